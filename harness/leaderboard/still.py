"""A note where a method never moved the policy: its score is the untrained one's, and says nothing of the method."""

from __future__ import annotations

from collections.abc import Sequence

from harness.leaderboard.trials import Trial

__all__ = ["still_notes"]


def still_notes(trials: Sequence[Trial]) -> list[str]:
    """A sentence on the methods whose gradient was 0 in every step of every trial that ended; unlogged ones are not."""
    moved: dict[str, bool] = {}
    for trial in trials:
        if trial.ended and not moved.get(trial.method):
            found = _moved(trial)
            moved |= {} if found is None else {trial.method: found}
    still = [method for method, one in moved.items() if not one]
    if not still:
        return []
    said = ", ".join(still[:3]) + (f" and {len(still) - 3} more" if len(still) > 3 else "")
    why = "as where rewards in a group never differ, or groups have one completion"
    return [f"never trained: {said}; the gradient was 0 in every step, {why}"]


def _moved(trial: Trial) -> bool | None:
    """Whether any step had a gradient; None where none was logged. A score that changed needs no look at the steps."""
    scores = [record.get("score") for record in trial.evaluations]
    if len(scores) > 1 and scores[0] != scores[-1]:
        return True
    norms = [norm for step in trial.metrics if isinstance(norm := step.get("grad_norm"), int | float)]
    return any(norm != 0 for norm in norms) if norms else None  # NaN is no 0
