"""What a reader must be told before believing a board: broken controls, failures, mixed machines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.leaderboard import statistics
from harness.leaderboard.hacking import hacking_warnings
from harness.leaderboard.matrix import Matrix
from harness.leaderboard.mismatch import mismatch_notes
from harness.leaderboard.model import under_placebo
from harness.leaderboard.still import still_notes
from harness.leaderboard.trials import Trial

if TYPE_CHECKING:
    from harness.leaderboard.model import Row

__all__ = ["check", "same_curves"]

FEW_STEPS = 5  # a trial of fewer has hardly left the policy that it began with
TRUNCATED = 0.02  # a larger share of cut answers decides scores
MIXABLE = {"cpu": "processors", "threads": "thread counts", "torch": "torch versions", "commit": "commits"}


def check(scores: Matrix, rows: Sequence[Row], baseline: str) -> tuple[list[str], list[str]]:
    """Warnings (the board is not to be trusted as it stands) and notes (what to know when reading it).

    `baseline` is the suite's own, which a placebo stands on that names no method.
    """
    warnings = [*placebo_warnings(scores, rows, baseline), *random_warnings(scores, rows)]
    warnings += hacking_warnings(scores, rows)
    trials = list(scores.trials.values())
    notes = [
        *placebo_notes(scores, rows, baseline),
        *few_steps_notes(trials),
        *failure_notes(rows),
        *missing_notes(rows),
        *still_notes(trials),
        *collapse_notes(scores),
        *truncation_notes(trials),
        *mismatch_notes(trials),
        *mixed_notes(trials),
    ]
    return warnings, notes


def placebos(rows: Sequence[Row], baseline: str) -> dict[str, str]:
    """Placebo row -> the method that it wraps."""
    return {row.method: under_placebo(row.method) or baseline for row in rows if row.role == "placebo"}


def placebo_warnings(scores: Matrix, rows: Sequence[Row], baseline: str) -> list[str]:
    """A placebo must equal the method it wraps in every evaluation, exactly."""
    warnings = []
    for placebo, control in placebos(rows, baseline).items():
        pairs = [(scores.trials.get((placebo, seed)), scores.trials.get((control, seed))) for seed in scores.seeds]
        both = [(one, two) for one, two in pairs if one and two and one.ended and two.ended]
        off = [one.seed for one, two in both if not same_curves(one, two)]
        if off:
            warnings.append(
                f"{placebo} differs from {control} on seeds {', '.join(map(str, off))}: "
                "runs are not reproducible here, so small differences mean nothing"
            )
    return warnings


def placebo_notes(scores: Matrix, rows: Sequence[Row], baseline: str) -> list[str]:
    """A placebo whose method is not there shows nothing."""
    return [
        f"{placebo} shows nothing: {control}, which it must equal, is not on this board"
        for placebo, control in placebos(rows, baseline).items()
        if control not in scores.methods
    ]


def same_curves(one: Trial, two: Trial) -> bool:
    """Whether two trials ended alike and gave the same numbers in every evaluation."""
    if one.status != two.status or len(one.evaluations) != len(two.evaluations):
        return False
    names = ("progress", "spent", "tasks", "score")
    return all(
        {name: a.get(name) for name in names} == {name: b.get(name) for name in names}
        for a, b in zip(one.evaluations, two.evaluations, strict=True)
    )


def random_warnings(scores: Matrix, rows: Sequence[Row]) -> list[str]:
    """Random rewards must teach nothing: a significant gain over the untrained policy questions every row.

    Unadjusted on purpose: a warning should come early.
    """
    warnings = []
    for row in rows:
        if row.role != "random-reward":
            continue
        start = statistics.per_seed(scores.untrained[scores.row(row.method)], scores.reduce)
        gains = statistics.paired_values(row.scores, start)
        if gains.size >= 2 and gains.mean() > 0 and statistics.paired_p(gains) < 0.05:
            warnings.append(
                f"{row.method} gains {100 * float(gains.mean()):+.1f} points over the untrained policy: part of every "
                "gain on this suite may be format or contamination, not learning"
            )
    return warnings


def few_steps_notes(trials: Sequence[Trial]) -> list[str]:
    """Trials so short that their differences are noise, and those whose budget bought nothing."""
    ended = [trial for trial in trials if trial.ended]
    none = sorted({trial.method for trial in ended if "the budget bought no step" in str(trial.result.get("error"))})
    few = [trial.steps for trial in ended if trial.status == "done" and trial.steps < FEW_STEPS]
    notes = [f"the budget bought no step: {', '.join(none)}; their scores are the untrained policy's"] if none else []
    if few:
        low, high = min(few), max(few)
        number = f"{low} step{'s' * (low != 1)}" if low == high else f"{low} to {high} steps"
        whose = "a trial" if len(few) == len(ended) else f"in {len(few)} of {len(ended)} trials"
        notes.append(f"{number} {whose}: too few to say anything; give a larger --budget")
    return notes


def failure_notes(rows: Sequence[Row]) -> list[str]:
    """Failed trials are scored, not dropped: say which."""
    return [
        f"{row.method}: {', '.join(f'{count} {status}' for status, count in row.cost.failures.items())}; "
        "scored by the lower of the untrained policy and the last evaluation"
        for row in rows
        if row.cost and row.cost.failures
    ]


def missing_notes(rows: Sequence[Row]) -> list[str]:
    """Rows whose trials have not all ended."""
    missing = [f"{row.method} (n = {row.n} of {row.expected})" for row in rows if row.n < row.expected]
    return [f"trials missing: {', '.join(missing)}"] if missing else []


def collapse_notes(scores: Matrix) -> list[str]:
    """Seeds that fell far below their siblings: intervals over few seeds then hold less often than they say."""
    found = statistics.collapsed(scores.scores)
    if not found.any():
        return []
    fallen = [
        f"{method} (seed {', '.join(str(scores.seeds[s]) for s in np.flatnonzero(row))})"
        for method, row in zip(scores.methods, found, strict=True)
        if row.any()
    ]
    said = "where runs collapse, intervals of scores hold less often than they say (docs/statistics.md)"
    return [f"seeds far below their siblings: {', '.join(fallen)}; {said}"]


def truncation_notes(trials: Sequence[Trial]) -> list[str]:
    """Tasks of whose answers, in the last evaluations, more were cut at the length limit than may be ignored."""
    shares: dict[str, dict[str, list[float]]] = {}
    for trial in trials:
        for task, row in (trial.evaluations[-1].get("tasks") or {}).items() if trial.evaluations else ():
            shares.setdefault(task, {}).setdefault(trial.method, []).append(float(row.get("truncated") or 0.0))
    notes = []
    for task, methods in sorted(shares.items()):  # an export has its tasks in another order than its runs
        means = {method: float(np.mean(found)) for method, found in methods.items()}
        cut = sorted((method for method in means if means[method] > TRUNCATED), key=lambda method: -means[method])
        if cut:
            worst = ", ".join(f"{method} {means[method]:.1%}" for method in cut[:3])
            more = f" and {len(cut) - 3} more" if len(cut) > 3 else ""
            notes.append(f"answers to {task} cut at the length limit: {worst}{more}; they count as wrong, so a larger"
                         " sampling.max_tokens or evaluation.max_tokens changes these scores")  # fmt: skip
    return notes


def mixed_notes(trials: Iterable[Trial]) -> list[str]:
    """Trials of several machines or versions are not exactly paired: say so."""
    recorded = [flatten(trial.provenance) for trial in trials]
    notes = []
    for name, words in MIXABLE.items():
        found = sorted({str(values[name]) for values in recorded if values.get(name) is not None})
        if len(found) > 1:
            notes.append(f"mixed {words}: {', '.join(map(short_commit, found) if name == 'commit' else found)}")
    return notes


def short_commit(commit: str) -> str:
    """The first characters of a hash, with `+changes` where files differed."""
    head, plus, rest = commit.partition("+")
    return head[:10] + plus + rest


def flatten(values: dict[str, Any]) -> dict[str, Any]:
    """A nested record by its leaf names."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= flatten(value) if isinstance(value, dict) else {name: value}
    return flat
