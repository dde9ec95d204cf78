"""A note where an engine's log-probabilities lay so far from the learner's that methods without a correction suffer."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from harness.leaderboard.trials import Trial

__all__ = ["mismatch_notes"]

GAP = 0.1  # nats a token in the mean over a trial's steps: bfloat16 came to less than half of it
SHARE = 0.5  # effective share of whole completions under the ratios


def mismatch_notes(trials: Sequence[Trial]) -> list[str]:
    """A sentence on the methods that an engine sampled for and whose distributions differed by much.

    Lag is a difference that a suite asks for; the built-in sampler has the learner's own weights. The steps of both
    are not read.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for trial in trials:
        sampler = trial.config.get("sampler") or {}
        if sampler.get("engine", "builtin") == "builtin" or sampler.get("lag"):
            continue
        steps = trial.metrics
        gap, share = (mean([step.get(name) for step in steps]) for name in ("logp_gap", "ess_rows"))
        if gap > GAP or share < SHARE:
            found.setdefault(trial.method, []).append((gap, share))
    if not found:
        return []
    worst = sorted(found, key=lambda method: -max(gap for gap, _ in found[method]))[:3]
    said = ", ".join(
        f"{method} ({max(gap for gap, _ in found[method]):.2f} nats a token, "
        f"{min(share for _, share in found[method]):.0%} of completions effective)"
        for method in worst
    )
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return [f"the engine sampled from another distribution than the learner's: {said}{more}; see docs/engines.md"]


def mean(values: Sequence[object]) -> float:
    """The mean of the finite numbers; NaN where there is none."""
    known = [float(value) for value in values if isinstance(value, int | float) and math.isfinite(value)]
    return float(np.mean(known)) if known else math.nan
