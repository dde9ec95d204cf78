"""Claims of methods that shape or add rewards."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.claims import Evidence, claim
from harness.probe import advantages, rewards, total_reward
from harness_papers.rewards.fgrpr import FGRPR

__all__ = [
    "alike_answers_differ", "bad_judges_lose_weight", "brevity_rises", "close_answers_differ", "flaws_help_then_hurt",
    "no_cliff", "right_beats_wrong", "steady_falls", "wrong_and_short_is_worst",
]  # fmt: skip


@claim("overlong-penalty", "The reward has no cliff at the length limit.")
def no_cliff() -> Evidence:
    """The largest change of the reward from one more token."""
    lengths = np.arange(70, 101)
    soft = rewards("overlong-penalty", [1.0] * 31, None, lengths=lengths)["overlong_penalty"]
    steps = {"soft": float(abs(np.diff(soft)).max()), "cut off at the limit": 1.0}
    return Evidence(steps["soft"] < 0.1, steps)


@claim("kimi-length", "Shorter correct answers rise inside each group.")
def brevity_rises() -> Evidence:
    """Correct answers of eight lengths beside wrong ones."""
    lengths = [*range(10, 18), 5, 30]
    found = advantages("grpo(beta=0)+kimi-length", [1.0] * 8 + [0.0] * 2, [0] * 10, lengths=lengths, shaped=True)
    falls = np.diff(found[:8])
    return Evidence(bool((falls < 0).all()), {"largest change a token": float(falls.max())})


@claim("hapo-history", "Every correct completion earns more than every wrong one, whatever their lengths.")
def right_beats_wrong() -> Evidence:
    """All lengths up to three times the record."""
    fields: dict[str, Any] = {"lengths": [*range(300)] * 2, "record": [100.0] * 600}
    total, _ = total_reward("hapo-history", [1.0] * 300 + [0.0] * 300, None, **fields)
    worst, best = float(total[:300].min()), float(total[300:].max())
    return Evidence(worst > best, {"worst correct": worst, "best wrong": best})


@claim("fgrpr", "Completions of a group differ in reward even where none is exact.")
def close_answers_differ() -> Evidence:
    """Answers 1 to 8 off."""
    close = [FGRPR().close(100, f"#{100 + gap}") for gap in range(1, 9)]
    return Evidence(float(np.std(close)) > 0, {"spread": float(np.std(close)), "spread of exact match": 0.0})


@claim("dra-grpo", "Groups in which all are correct still teach, and distinct solutions gain.")
def alike_answers_differ() -> Evidence:
    """Three alike and one of its own, all right."""
    ids = [[1, 2, 3, 4]] * 3 + [[5, 6, 7, 8]]
    fields: dict[str, Any] = {"completion_ids": ids, "lengths": [4] * 4, "shaped": True}
    ours, theirs = (advantages(f"grpo(beta=0){m}", [1.0] * 4, [0] * 4, **fields) for m in ("+dra-grpo", ""))
    numbers = {"the distinct one": float(ours[3]), "under grpo": float(theirs[3])}
    return Evidence(ours[3] > 0 == abs(theirs).max(), numbers)


@claim("fapo-flawed", "Flawed correct answers are reinforced early and suppressed late, without a schedule.")
def flaws_help_then_hurt() -> Evidence:
    """Groups of eight with more and more sound answers."""
    found = {}
    for sound, wrong in ((1, 5), (3, 1)):
        flawed = 8 - sound - wrong
        columns = [[1, 1]] * sound + [[1, 0.5]] * flawed + [[0, 0]] * wrong
        fields: dict[str, Any] = {"reward_names": ["correct", "steps"], "shaped": True}
        found[f"{wrong} of 8 wrong"] = float(advantages("grpo(beta=0)+fapo-flawed", columns, [0] * 8, **fields)[sound])
    early, late = found.values()
    return Evidence(early > 0 > late, found)


@claim("trust-grpo", "A judge that prefers wrong answers loses weight.")
def bad_judges_lose_weight() -> Evidence:
    """What the judge adds to a correct answer, as it likes the wrong one more and more."""
    added = []
    for liked in (0.0, 0.5, 1.0):
        columns = [[1, 0.5], [0, liked]]
        added.append(float(rewards("trust-grpo", columns, [0, 0], reward_names=["correct", "steps"])["trusted"][0] - 1))
    names = ("judge likes the wrong one not", "as much", "more")
    return Evidence(added[0] == added[1] > added[2], dict(zip(names, added, strict=True)))


@claim("etr-entropy-trend", "The reward rises when uncertainty falls steadily rather than in swings.")
def steady_falls() -> Evidence:
    """From 1 to 0.2 in four steps, straight and zigzag."""
    paths = {"steady": [1, 0.8, 0.6, 0.4, 0.2], "swings": [1, 0.3, 0.9, 0.1, 0.2]}
    text = "etr-entropy-trend(boundary='', normalize=False)"
    trend = rewards(text, [1.0, 1.0], [0, 0], entropy=list(paths.values()))["entropy_trend"]
    return Evidence(bool(trend[0] > trend[1]), dict(zip(paths, map(float, trend), strict=True)))


@claim("cosine-length", "Short wrong answers are the worst outcome, short right ones the best.")
def wrong_and_short_is_worst() -> Evidence:
    """All lengths below the limit, right and wrong."""
    fields: dict[str, Any] = {"lengths": [*range(100)] * 2, "max_tokens": 100}
    found = rewards("cosine-length", [1.0] * 100 + [0.0] * 100, None, **fields)["cosine_length"]
    numbers = {"right and short": float(found[0]), "wrong and short": float(found[100])}
    return Evidence(found.argmax() == 0 and found.argmin() == 100, numbers)
