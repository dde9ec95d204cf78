"""Claims of methods that reweigh groups and completions: difficulty, length, confidence, trust in labels."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from harness.claims import Evidence, claim
from harness.probe import advantages, objective
from harness.probe_inputs import plain_batch
from harness_papers.claims.measuring import (
    all_groups,
    cosine,
    expected_ascent,
    in_the_lab,
    of_value,
    repeated,
    slopes,
    softmax,
)  # fmt: skip
from harness_papers.group_relative.tmn_reweight import TMNReweight

__all__ = [
    "alpha_follows_success", "confidence_spreads_advantages", "every_prompt_moves_as_much",
    "failures_point_the_right_way", "flipped_labels_hurt_less", "lengths_do_not_dilute", "low_baselines_are_safe",
    "order_is_all", "prompts_weigh_alike", "pure_ranks_teach_unanimous_groups", "ranks_teach_unanimous_groups",
    "right_ones_never_lose", "rises_have_room", "tasks_are_on_one_scale",
]  # fmt: skip

SIXTEEN = np.tri(17, 16, -1)  # groups of sixteen with 0 to 16 right


def totals(method: str, **fields: Any) -> np.ndarray:
    """[17] sum of |A| in groups of sixteen with 0 to 16 right."""
    found = advantages(method, SIXTEEN.ravel(), np.repeat(np.arange(17), 16), **fields)
    return np.abs(found.reshape(17, 16)).sum(1)


@claim("dr-grpo", "A prompt's difficulty does not change its weight in the gradient, where GRPO's std does.")
def prompts_weigh_alike() -> Evidence:
    """Expected gradient over the true one, groups of ten, pass rates .1 and .5: the weight at .1 over that at .5."""
    numbers: dict[str, float] = {}
    for text in ("dr-grpo", "grpo(beta=0)"):
        weights = [
            float(np.linalg.norm(expected_ascent(text, [p, 1 - p], [1.0, 0.0], 10)[0])) / (p * (1 - p))
            for p in (0.1, 0.5)
        ]
        numbers[text] = weights[0] / weights[1]
    return Evidence(abs(numbers["dr-grpo"] - 1) < 1e-9 < abs(numbers["grpo(beta=0)"] - 1), numbers)


@claim("dr-grpo", "A long wrong answer loses as much a token as a short one, where GRPO spares the long one.")
def lengths_do_not_dilute() -> Evidence:
    """Push on a token of a wrong answer of 100 tokens over that of one of 10."""
    from harness.probe import weights

    mask = np.arange(100) < np.array([[10], [100]])
    numbers: dict[str, float] = {}
    for text in ("dr-grpo", "grpo(beta=0)"):
        found = weights(text, mask.astype(float), max_tokens=100)
        numbers[text] = float(found[1, 0] / found[0, 0])
    return Evidence(abs(numbers["dr-grpo"] - 1) < 1e-9 and numbers["grpo(beta=0)"] < 0.2, numbers)


@claim("dapo", "Between the old and the higher bound an unlikely token still rises, where GRPO's clip stops it.")
def rises_have_room() -> Evidence:
    """Ratio 1.25; a fall to .75 is stopped by both. The effect on entropy needs training."""
    up, down = np.log([1.25, 0.75])
    numbers = {f"rise, {text}": float(slopes(text, up, 1.0)[0]) for text in ("dapo", "grpo(beta=0)")}
    numbers |= {f"fall, {text}": float(slopes(text, down, -1.0)[0]) for text in ("dapo", "grpo(beta=0)")}
    return Evidence(numbers["rise, dapo"] > numbers["rise, grpo(beta=0)"] == 0 == numbers["fall, dapo"], numbers)


@claim("dgpo-mathforge", "The total update of a prompt does not shrink with its difficulty, as GRPO's does.")
def every_prompt_moves_as_much() -> Evidence:
    """Sum of |A| in groups of sixteen: with one right over that with eight."""
    texts = ("dgpo-mathforge(weights=False)", "dgpo-mathforge", "grpo(beta=0)")
    numbers = {text: float(found[1] / found[8]) for text in texts for found in [totals(text)]}
    ours, weighed, theirs = numbers.values()
    return Evidence(abs(ours - 1) < 1e-3 and weighed > 1 > theirs, numbers)


@claim("s-grpo-noise", "Under a fifth of flipped rewards the direction is better than GRPO's.")
def flipped_labels_hurt_less() -> Evidence:
    """The lab's bandit: mean cosine of a batch's gradient with the true one; the method assumes 15 %."""
    numbers: dict[str, float] = {}
    for text in ("s-grpo-noise", "grpo(beta=0)", "dr-grpo"):
        numbers[text] = in_the_lab(text, "bandit", 100, noise=0.2)["step"]
    return Evidence(
        numbers["s-grpo-noise"] > numbers["grpo(beta=0)"], numbers, "The paper's claim is about whole runs."
    )


@claim("lens", "Groups without any success have a useful gradient.")
def failures_point_the_right_way() -> Evidence:
    """Four answers of which the last is right: all groups of four that miss it, mean over them, on twenty policies."""
    rng = np.random.default_rng(0)
    numbers: dict[str, float] = {}
    cosines = []
    for _ in range(20):
        chances = softmax(rng.standard_normal(4) * 1.5)
        true = of_value(chances, 1, lambda drawn: drawn[:, 0] == 3)
        drawn = all_groups(3, 4)
        logp = np.log(chances)[drawn.ravel()][:, None]
        found = advantages("lens", np.zeros(drawn.size), np.repeat(np.arange(len(drawn)), 4), logp_old=logp)
        ascent = (found.reshape(drawn.shape)[..., None] * (np.eye(4)[drawn] - chances)).mean(1)
        cosines.append(cosine(chances[drawn].prod(1) @ ascent, true))
    zero = advantages("grpo(beta=0)", np.zeros(4), [0] * 4)
    numbers["mean cosine with the true gradient"] = float(np.mean(cosines))
    numbers |= {"policies where it is positive, of 20": float(np.sum(np.array(cosines) > 0))}
    numbers["largest advantage under grpo"] = float(abs(zero).max())
    return Evidence(numbers["policies where it is positive, of 20"] == 20, numbers)


@claim("edge-grpo", "Advantages vary more within groups than under GRPO.")
def confidence_spreads_advantages() -> Evidence:
    """64 groups of eight, random verdicts, entropies log-normal with sigma 1/2."""
    rng = np.random.default_rng(0)
    rewards, keys = (rng.random(512) < 0.5).astype(float), np.arange(512) // 8
    entropy = rng.lognormal(-1, 0.5, (512, 1))
    numbers: dict[str, float] = {}
    for text in ("edge-grpo", "grpo(beta=0)"):
        found = advantages(text, rewards, keys, entropy=entropy).reshape(64, 8)
        numbers |= {
            f"variance within, {text}": float(found.var(1).mean()),
            f"across, {text}": float(found.mean(1).var()),
        }
    shown = all(
        numbers[f"{what}, edge-grpo"] > numbers[f"{what}, grpo(beta=0)"] for what in ("variance within", "across")
    )
    return Evidence(shown, numbers, "Entropies are independent of verdicts here.")


def unanimous(method: str) -> Evidence:
    """All right with lengths from 10 to 80 of 100; all wrong with scores, once and ten times as large."""
    lengths, scores = np.arange(10, 90, 10), np.array([0.1, 0.2, 0.3, 0.5])
    right = advantages(method, [1.0] * 8, [0] * 8, lengths=lengths, max_tokens=100)
    wrong = [advantages(method, scale * scores, [0] * 4, correct=[False] * 4) for scale in (1, 10)]
    numbers = {
        "spread of right ones": float(np.ptp(right)),
        "of wrong ones": float(np.ptp(wrong[0])),
        "change by ten times the score": float(abs(wrong[1] - wrong[0]).max()),
        "spread of right ones under grpo": float(np.ptp(advantages("grpo(beta=0)", [1.0] * 8, [0] * 8))),
    }
    found, other, change, theirs = numbers.values()
    return Evidence(min(found, other) > 0 == change == theirs, numbers)


UNANIMOUS = "Unanimous groups keep a signal, and the scale of a reward model's scores has no effect."


@claim("rlrr-hybrid", UNANIMOUS)
def ranks_teach_unanimous_groups() -> Evidence:
    """The hybrid reward."""
    return unanimous("rlrr-hybrid")


@claim("rlrr-pure", UNANIMOUS)
def pure_ranks_teach_unanimous_groups() -> Evidence:
    """Ranks alone."""
    return unanimous("rlrr-pure")


@claim("a-hpo", "The factor on negative advantages rises with the pass rate and is 1 from one half on.")
def alpha_follows_success() -> Evidence:
    """One group of sixteen: A of a wrong answer over GRPO's."""
    numbers: dict[str, float] = {}
    for right in (1, 4, 8, 12):
        rewards = [1.0] * right + [0.0] * (16 - right)
        ours, theirs = (advantages(text, rewards, [0] * 16)[-1] for text in ("a-hpo", "grpo(beta=0)"))
        numbers[f"{right} of 16 right"] = float(ours / theirs)
    first, second, third, fourth = numbers.values()
    return Evidence(first < second < third == fourth == 1, numbers)


@claim("tmn-reweight", "Tasks with rewards of different size weigh alike, without a std per prompt.")
def tasks_are_on_one_scale() -> Evidence:
    """Task b has ten times the rewards of task a; in each a prompt with a wide and one with a narrow spread."""
    wide, narrow = [1.0, 0.0, 1.0, 0.0], [0.6, 0.4, 0.6, 0.4]
    rewards = np.array([*wide, *narrow, *(10 * np.array([*wide, *narrow]))])
    batch = plain_batch({"rewards": rewards, "group": np.repeat(np.arange(4), 4)})
    tasks = ["a"] * 8 + ["b"] * 8
    records = [dataclasses.replace(one, task=task) for one, task in zip(batch.prompts, tasks, strict=True)]
    ours = TMNReweight(strength=0.0).estimate_advantages(batch.replace(prompts=tuple(records))).numpy()
    numbers: dict[str, float] = {}
    plain = {text: advantages(text, rewards, np.repeat(np.arange(4), 4)) for text in ("dr-grpo", "grpo(beta=0)")}
    for name, found in {"tmn-reweight": ours, **plain}.items():
        numbers |= {
            f"task b over a, {name}": float(found[8] / found[0]),
            f"narrow over wide, {name}": float(found[4] / found[0]),
        }
    alike = abs(numbers["task b over a, tmn-reweight"] - 1) < 1e-3
    kept = abs(numbers["narrow over wide, tmn-reweight"] - numbers["narrow over wide, dr-grpo"]) < 1e-6
    return Evidence(alike and kept, numbers, "The reweighting by difficulty is off (strength 0).")


@claim(
    "gopo-rank", "A reward model's distortion that keeps the order changes nothing, where it changes GRPO's advantages."
)
def order_is_all() -> Evidence:
    """Sixteen random rewards, and their exponentials three times as steep."""
    rewards = np.random.default_rng(0).standard_normal(16)
    numbers: dict[str, float] = {}
    for text in ("gopo-rank", "grpo(beta=0)"):
        plain, bent = (advantages(text, values, [0] * 16) for values in (rewards, np.exp(3 * rewards)))
        numbers[f"largest change, {text}"] = float(abs(plain - bent).max())
    ours, theirs = numbers.values()
    return Evidence(ours == 0 < theirs, numbers, "That it trains faster is not checked.")


@claim("asymre", "Off-policy a baseline below the mean reward keeps the policy broad, one above it makes it collapse.")
def low_baselines_are_safe() -> Evidence:
    """A fixed batch of ten completions of three, sampled by another policy; entropy after 40 steps of rate 3."""
    arms = [0] * 4 + [1] * 4 + [2] * 2
    rewards = np.array([0.0] * 4 + [0.5] * 4 + [1.0] * 2)
    numbers: dict[str, float] = {}
    for shift in (-0.1, 0.1):
        given = advantages(f"asymre(shift={shift})", rewards, [0] * 10)
        path = softmax(repeated("asymre", np.zeros(3), arms, 40, 3.0, rewards=rewards, advantages=given))
        numbers[f"entropy, shift {shift:+}"] = float(-(path[-1] @ np.log(np.maximum(path[-1], 1e-300))))
    low, high = numbers.values()
    return Evidence(low > 0.3 and high < 0.05, numbers)


@claim("drpo-length", "Brevity never makes a right completion lose, as a length penalty under GRPO does.")
def right_ones_never_lose() -> Evidence:
    """Right answers of 10, 40 and 90 of 100 tokens and a wrong one: least push on a right one's token."""
    mask = (np.arange(100) < np.array([[10], [40], [90], [50]])).astype(float)
    fields: dict[str, Any] = {"logp": -mask, "logp_old": -mask, "group": [0] * 4, "mask": mask, "max_tokens": 100}
    ours = objective("drpo-length", rewards=[1.0, 1.0, 1.0, 0.0], **fields)[1]
    theirs = objective("grpo(beta=0)", rewards=[0.9, 0.6, 0.1, -0.5], **fields)[1]
    numbers = {
        "drpo": float(-ours[[0, 1, 2], 0].max()),
        "grpo, reward less length over 100": float(-theirs[[0, 1, 2], 0].max()),
    }
    return Evidence(numbers["drpo"] > 0 > numbers["grpo, reward less length over 100"], numbers)
