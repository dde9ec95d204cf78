"""Claims of methods that combine several reward columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.claims import Evidence, claim
from harness.probe import advantages, rewards

__all__ = [
    "contrast_raises_the_spread", "correlations_are_equal", "duplicates_are_damped", "lengths_of_wrong_ones",
    "process_is_safe", "rarer_rewards_win", "smaller_advantages",
]  # fmt: skip


@claim("mo-grpo", "Each reward is equally correlated with the advantage, where GRPO follows that of largest variance.")
def correlations_are_equal() -> Evidence:
    """Independent rewards, one of them ten times as large."""
    columns = np.random.default_rng(0).random((64, 2)) * [1, 10]

    def correlations(method: str) -> list[float]:
        found = advantages(method, columns, [0] * 64)
        return [abs(float(np.corrcoef(found, column)[0, 1])) for column in columns.T]

    ours, theirs = correlations("mo-grpo"), correlations("grpo(beta=0)")
    numbers = {
        f"{who}, reward {k + 1}": x for who, row in (("mo-grpo", ours), ("grpo", theirs)) for k, x in enumerate(row)
    }
    return Evidence(abs(ours[0] - ours[1]) < 0.05 < abs(theirs[0] - theirs[1]), numbers)


@claim("dvao", "The mean squared advantage is below GRPO's on the sum, the more so the more rewards oppose each other.")
def smaller_advantages() -> Evidence:
    """Normal rewards of three correlations."""
    noise = np.random.default_rng(0).standard_normal((256, 2))
    found = {}
    for rho in (-0.9, 0.0, 0.9):
        columns = np.stack([noise[:, 0], rho * noise[:, 0] + (1 - rho**2) ** 0.5 * noise[:, 1]], 1)
        ours, theirs = (np.mean(advantages(m, columns, [0] * 256) ** 2) for m in ("dvao", "grpo(beta=0)"))
        found[f"share of GRPO's at correlation {rho}"] = float(ours / theirs)
    shares = list(found.values())
    return Evidence(shares[0] < shares[1] < shares[2] < 1, found)


@claim(
    "sa-mrpo", "The sign of the combined advantage can differ from the fixed-weight sum, in favour of the rarer reward."
)
def rarer_rewards_win() -> Evidence:
    """Three of four have the first reward; the fourth has the second, of a little less weight."""
    columns = [[1, 0], [1, 0], [1, 0], [0, 1]]
    ours, theirs = (float(advantages(m, columns, [0] * 4, reward_weights=[1.0, 0.9])[3]) for m in ("sa-mrpo", "gdpo"))
    return Evidence(ours > 0 > theirs, {"the rare one under sa-mrpo": ours, "under gdpo": theirs})


@claim(
    "rdpo-decorrelated",
    "A reward that stands beside two identical ones has a share of .414 of the advantage, not of 1/3.",
)
def duplicates_are_damped() -> Evidence:
    """Orthogonal columns u, u, v."""
    u, v = np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 1, 0])

    def share(method: str) -> float:
        found = advantages(method, np.stack([u, u, v], 1), [0] * 4)
        parts = abs(found @ (2 * u - 1)), abs(found @ (2 * v - 1))
        return float(parts[1] / sum(parts))

    ours, theirs = share("rdpo-decorrelated"), share("gdpo")
    return Evidence(abs(ours - 0.414) < 0.01 and abs(theirs - 1 / 3) < 0.01, {"rdpo": ours, "gdpo": theirs})


@claim(
    "papo-process", "The process score cannot raise a wrong completion, and groups that are all correct still teach."
)
def process_is_safe() -> Evidence:
    """Random process scores, with and without wrong completions."""
    noise = np.random.default_rng(0).random((2, 8))
    fields: dict[str, Any] = {"reward_names": ["correct", "steps"]}

    def run(correct: np.ndarray, process: np.ndarray) -> np.ndarray:
        return advantages("papo-process", np.stack([correct, process], 1), [0] * 8, **fields)

    some, every = np.arange(8) < 5, np.ones(8)
    moved = float(abs(run(some, noise[0])[5:] - run(some, noise[1])[5:]).max())
    spread = float(run(every, noise[0]).std())
    return Evidence(moved == 0 < spread, {"change of wrong ones": moved, "spread where all are right": spread})


@claim("ddca", "Lengths of wrong completions have no effect on the correct ones, where a length reward under GRPO has.")
def lengths_of_wrong_ones() -> Evidence:
    """The wrong ones once short, once long."""

    def moved(method: str) -> float:
        runs = [
            advantages(method, [1, 1, 0, 0], [0] * 4, lengths=[10, 20, *wrong], shaped=True)[:2]
            for wrong in ([5, 5], [40, 40])
        ]
        return float(abs(runs[0] - runs[1]).max())

    ours, theirs = moved("ddca"), moved("grpo(beta=0)+kimi-length")
    return Evidence(ours == 0 < theirs, {"ddca": ours, "grpo+kimi-length": theirs})


@claim("pow3r", "The reward varies more within a group than the static rubric's.")
def contrast_raises_the_spread() -> Evidence:
    """Binary criteria of pass rates from 5 % to 95 %, 64 groups of 8."""
    rates = np.array([0.5, 0.05, 0.3, 0.7, 0.95])
    columns = (np.random.default_rng(0).random((512, 5)) < rates).astype(float)
    fields: dict[str, Any] = {"group": np.arange(512) // 8, "reward_names": list("abcde")}

    def spread(text: str) -> float:
        return float(rewards(text, columns, **fields)["rubric"].reshape(64, 8).std(1).mean())

    ours, static = spread("pow3r"), spread("pow3r(floor=1.0)")
    return Evidence(ours > static, {"pow3r": ours, "static": static})
