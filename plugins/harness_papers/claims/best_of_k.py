"""Claims of methods that follow the best of k, the log of the pass rate, or what a set of completions covers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from harness.claims import Evidence, claim
from harness.probe import advantages, objective
from harness_papers.claims.measuring import (
    all_groups,
    best_of,
    cosine,
    expected_ascent,
    of_value,
    relative_error,
    softmax,
)  # fmt: skip

__all__ = [
    "attempts_are_calibrated", "best_minus_second_is_pass_at_k",
    "exploring_failures_gain", "focal_weights_follow_pass_at_k",
    "gains_follow_coverage", "loo_1_is_quiet", "old_samples_are_corrected", "subsets_are_unbiased", "tends_to_the_log",
]  # fmt: skip

CHANCES, REWARDS = np.array([0.6, 0.25, 0.15]), np.array([0.0, 0.4, 1.0])


@claim("grpo-passk", "The gradient is that of the best of the whole group, and only lone bests teach.")
def best_minus_second_is_pass_at_k() -> Evidence:
    """Unscaled, all groups of four: the mean over the group times four, as the maximum is no mean."""
    mean, _ = expected_ascent("grpo-passk(scale=False)", CHANCES, REWARDS, 4)
    tied = abs(advantages("grpo-passk", [1.0, 1.0, 0.0, 0.0], [0] * 4)).max()
    numbers = {"error of the expected gradient": relative_error(4 * mean, best_of(CHANCES, REWARDS, 4))}
    numbers |= {"advantages where two are best": float(tied)}
    scaled, _ = expected_ascent("grpo-passk", CHANCES, REWARDS, 4)
    numbers["cosine with the default's division by std"] = cosine(scaled, best_of(CHANCES, REWARDS, 4))
    return Evidence(numbers["error of the expected gradient"] < 1e-9 and tied == 0, numbers)


@claim("pkpo", "The gradient of the best of k is unbiased with each of the three transformations.")
def subsets_are_unbiased() -> Evidence:
    """All groups of four, k = 2."""
    true = best_of(CHANCES, REWARDS, 2)
    errors = {}
    for kind in ("plain", "loo", "loo-1"):
        errors[kind] = relative_error(expected_ascent(f"pkpo(k=2, kind='{kind}')", CHANCES, REWARDS, 4)[0], true)
    errors["grpo"] = relative_error(expected_ascent("grpo(beta=0)", CHANCES, REWARDS, 4)[0], true)
    return Evidence(max(errors[kind] for kind in ("plain", "loo", "loo-1")) < 1e-9, errors)


@claim("pkpo", "Of the three transformations loo-1 has the least variance.")
def loo_1_is_quiet() -> Evidence:
    """All groups of four, k = 2 and 3, on three worlds."""
    numbers: dict[str, float] = {}
    shown = True
    worlds = {"mixed": CHANCES, "hard": np.array([0.9, 0.07, 0.03]), "easy": np.array([0.2, 0.2, 0.6])}
    for (name, chances), k in itertools.product(worlds.items(), (2, 3)):
        found = {
            kind: expected_ascent(f"pkpo(k={k}, kind='{kind}')", chances, REWARDS, 4)[1]
            for kind in ("plain", "loo", "loo-1")
        }
        numbers |= {f"{kind}, {name}, k={k}": value for kind, value in found.items()}
        shown &= found["loo-1"] < min(found["plain"], found["loo"])
    return Evidence(shown, numbers, "Variance of the gradient of a group.")


@claim(
    "maxk", "For completions of an older policy the gradient of the best of k is less biased than without correction."
)
def old_samples_are_corrected() -> Evidence:
    """All groups of four of the old policy, k = 3, at logits some distance away; against PKPO without weights."""
    numbers: dict[str, float] = {}
    drawn = all_groups(3, 4)
    for distance in (0.1, 0.3):
        new = softmax(np.log(CHANCES) + distance * np.array([1.0, -1.0, 0.5]))
        logp, old = (np.log(chances)[drawn.ravel()][:, None] for chances in (new, CHANCES))
        true = best_of(new, REWARDS, 3)
        for name, text in (
            ("maxk without baseline", "maxk(k=3, baseline='none')"),
            ("on-policy weights without", "pkpo(k=3, kind='plain')"),
            ("maxk as by default", "maxk(k=3)"), ("on-policy weights as by default", "pkpo(k=3)"),
        ):  # fmt: skip
            _, gradient = objective(
                text, logp=logp, logp_old=old, mask=np.ones_like(logp), rewards=REWARDS[drawn.ravel()],
                group=np.repeat(np.arange(len(drawn)), 4),
            )  # fmt: skip
            pull = -gradient.reshape(drawn.shape) * len(drawn)
            ascent = (pull[..., None] * (np.eye(3)[drawn] - new)).sum(1)
            numbers[f"{name}, distance {distance}"] = relative_error(CHANCES[drawn].prod(1) @ ascent, true)
    shown = all(
        numbers[f"maxk without baseline, distance {d}"] < numbers[f"on-policy weights without, distance {d}"]
        for d in (0.1, 0.3)
    )
    note = "The formula as in the paper, without baseline; the default baseline adds no bias."
    return Evidence(shown, numbers, note)


@claim(
    "maxrl", "The gradient tends to that of the log of the pass rate as groups grow, so that hard prompts weigh 1/p."
)
def tends_to_the_log() -> Evidence:
    """A prompt with pass rate 0.3, all groups of two to ten; the length over that of the gradient of ln p."""
    true = np.array([0.7, -0.7])  # of ln p by the two logits
    shares = {
        f"G={size}": cosine(mean, true) * float(np.linalg.norm(mean) / np.linalg.norm(true))
        for size in (2, 4, 10)
        for mean in [expected_ascent("maxrl", [0.3, 0.7], [1.0, 0.0], size)[0]]
    }
    right = [advantages("maxrl", [1.0] * won + [0.0] * (16 - won), [0] * 16)[0] for won in (1, 4)]
    shares["weight at p=1/16 over p=1/4, over Dr. GRPO's"] = float(right[0] / (15 / 16) / (right[1] / (12 / 16)))
    grows = 0 < shares["G=2"] < shares["G=4"] < shares["G=10"] <= 1
    return Evidence(grows and abs(shares["weight at p=1/16 over p=1/4, over Dr. GRPO's"] - 4) < 1e-3, shares)


@claim("f-grpo", "The direction is nearer to the gradient of pass@8 than GRPO's.")
def focal_weights_follow_pass_at_k() -> Evidence:
    """What a prompt with pass rate p weighs, against 8 (1 - p)^7 of pass@8: groups of eight, p from .05 to .95."""
    rates, weights = np.linspace(0.05, 0.95, 19), {}
    for text in ("f-grpo", "f-grpo(gamma=1.0)", "grpo(beta=0)"):
        found = advantages(text, np.tri(9, 8, -1).ravel(), np.repeat(np.arange(9), 8)).reshape(9, 8)
        won = np.arange(9)
        chance = np.array([[_binomial(8, int(k)) * p**k * (1 - p) ** (8 - k) for k in won] for p in rates])
        right, wrong = found[:, 0] * (won > 0), found[:, -1] * (won < 8)
        pull = (won * right * (1 - rates[:, None]) - (8 - won) * wrong * rates[:, None]) / 8
        weights[text] = (chance * pull).sum(1)
    numbers = {text: cosine(found, 8 * (1 - rates) ** 8 * rates) for text, found in weights.items()}
    return Evidence(
        numbers["f-grpo"] > numbers["grpo(beta=0)"],
        numbers,
        "Cosines over prompts; the paper's claim is about pass@256 after training.",
    )


def _binomial(n: int, k: int) -> float:
    return float(np.prod([(n - j) / (j + 1) for j in range(k)]))


@claim("polychromic", "A wrong completion that explores is reinforced together with the right ones of its set.")
def exploring_failures_gain() -> Evidence:
    """One right answer, one wrong answer of its own and six copies of another wrong one."""
    rewards, answers = [1.0] + [0.0] * 7, [0, 1] + [2] * 6
    numbers: dict[str, float] = {}
    for text in ("polychromic", "polychromic(size=4)", "grpo(beta=0)"):
        found = advantages(text, rewards, [0] * 8, answers=answers)
        numbers |= {f"wrong of its own, {text}": float(found[1]), f"wrong copy, {text}": float(found[2])}
    shown = numbers["wrong of its own, polychromic"] > max(0, numbers["wrong copy, polychromic"])
    return Evidence(shown, numbers, "In sets of two, the default, only the right answer tells sets apart.")


@claim("subpo", "The direction is nearer to the gradient of what a group covers than that of its mean reward.")
def gains_follow_coverage() -> Evidence:
    """Three right answers of unequal chance and a wrong one, all groups of four; distinct right ones count."""
    chances, rewards = np.array([0.4, 0.2, 0.1, 0.3]), np.array([1.0, 1.0, 1.0, 0.0])
    true = of_value(chances, 4, lambda drawn: [len({arm for arm in group if arm < 3}) for group in drawn])
    numbers: dict[str, float] = {}
    for text in ("subpo", "subpo(order='rollout')", "dr-grpo"):
        mean = expected_ascent(text, chances, rewards, 4, answers=[0, 1, 2, 3])[0]
        numbers[text] = cosine(mean, true)
    return Evidence(numbers["subpo"] > numbers["dr-grpo"], numbers, "Cosines of the expected gradient.")


@claim(
    "cal-grpo", "The gradient of solving a prompt within two attempts is unbiased, where without the weight it is not."
)
def attempts_are_calibrated() -> Evidence:
    """Independent attempts with chances .3 and .6: all groups of six trajectories (right, wrong-right, wrong-wrong)."""
    first, second = 0.3, 0.6
    chance = np.array([first, (1 - first) * second, (1 - first) * (1 - second)])
    drawn = all_groups(3, 6)
    key, place = np.repeat(np.arange(len(drawn)), 6), drawn.ravel()
    again = place > 0
    fields: dict[str, Any] = {
        "group": np.concatenate([key, key[again]]),
        "rewards": np.concatenate([place == 0, place[again] == 1]).astype(float),
        "round": np.concatenate([np.zeros_like(key), np.ones(again.sum(), int)]),
    }
    fields["correct"] = fields["rewards"] > 0.5
    true = {"first": first * (1 - first) * (1 - second), "second": (1 - first) * second * (1 - second)}
    numbers: dict[str, float] = {}
    for name, text in (("calibrated", "cal-grpo(attempts=2)"), ("plain", "cal-grpo(attempts=2, calibrated=False)")):
        found = advantages(text, fields["rewards"], fields["group"], round=fields["round"], correct=fields["correct"])
        score = fields["rewards"] - np.where(fields["round"] == 0, first, second)
        weight = chance[drawn].prod(1)[fields["group"]] / 6
        for attempt, label in enumerate(true):
            here = fields["round"] == attempt
            numbers[f"{label} attempt, {name}"] = float((weight * found * score)[here].sum()) / true[label]
    shown = all(abs(numbers[f"{label} attempt, calibrated"] - 1) < 0.01 for label in true)
    note = "Expected gradient over the true one; an attempt that one trajectory reaches alone teaches nothing."
    return Evidence(shown and abs(numbers["first attempt, plain"] - 1) > 0.1, numbers, note)
