"""Two methods of a suite against each other: one comparison, planned as such, so its interval is not widened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.errors import UsageError, nearest
from harness.leaderboard import statistics
from harness.leaderboard.build import board
from harness.leaderboard.columns import number, points, probability, ratio, scale, seconds, title
from harness.leaderboard.compare import difference
from harness.leaderboard.model import LEAST_SEEDS, LEVEL, Board, Difference, Row
from harness.leaderboard.trials import Trial, read_lines

__all__ = ["Duel", "duel"]


@dataclass(frozen=True)
class Duel:
    """What `harness compare` prints."""

    names: tuple[str, str]
    difference: Difference
    sentence: str
    lines: tuple[tuple[str, str, str, str], ...]  # label, first, second, difference
    notes: tuple[str, ...]


def duel(directory: Path, first: str, second: str, *, metric: str = "score") -> Duel:
    """Compare two methods of the suite whose trials lie in `directory`; UsageError for a method it does not have."""
    shown = board(directory, metric=metric)
    for name in (first, second):
        if name not in shown.matrix.methods:
            raise UsageError(f"no method {name!r} in {shown.suite}.{nearest(name, shown.matrix.methods)}")
    one, two = shown.row(first), shown.row(second)
    found = difference(one.scores, two.scores)
    values = (shown.matrix.final[shown.matrix.row(name)] for name in (first, second))
    better = statistics.probability_of_improvement(*values)
    return Duel(
        names=(first, second),
        difference=found,
        sentence=sentence(shown, first, second, found),
        lines=tuple(lines(shown, one, two, found, better)),
        notes=tuple(notes(shown, first, second)),
    )


def sentence(shown: Board, first: str, second: str, found: Difference) -> str:
    """The answer."""
    n = found.interval.n
    if n == 0:
        return f"{first} and {second} have no seed in common yet"
    size = points(shown, found.interval, sign=True)
    if n < LEAST_SEEDS:
        return f"{first} minus {second}: {size} on {n} seeds; fewer than {LEAST_SEEDS}, so nothing is claimed"
    if found.p < LEVEL:
        word = "better" if found.interval.mean > 0 else "worse"
        return f"{first} is {word} than {second}: {size} on {n} paired seeds (p {probability(found.p)})"
    return f"{first} and {second} cannot be told apart: {size} on {n} paired seeds (p {probability(found.p)})"


def lines(shown: Board, one: Row, two: Row, found: Difference, better: float) -> list[tuple[str, str, str, str]]:
    """The table's lines."""
    by = scale(shown)
    table = [
        (f"{title(shown)} [95 %]", points(shown, one.score), points(shown, two.score),
         points(shown, found.interval, sign=True)),
        *(
            (task, number(by * one.tasks[task]), number(by * two.tasks[task]),
             number(by * (one.tasks[task] - two.tasks[task]), sign=True))
            for task in (shown.matrix.tasks if len(shown.matrix.tasks) > 1 else ())
        ),
        ("area", number(by * one.area), number(by * two.area), number(by * (one.area - two.area), sign=True)),
        ("p, paired t", "", "", probability(found.p)),
        ("p, sign flip", "", "", probability(found.p_sign)),
        ("P(better)", "", "", probability(better)),
    ]  # fmt: skip
    if one.cost and two.cost:
        table += [
            ("waste", ratio(one.cost.waste), ratio(two.cost.waste), ""),
            ("extra passes", ratio(one.cost.extra), ratio(two.cost.extra), ""),
            ("time a trial", seconds(one.cost.seconds), seconds(two.cost.seconds), ""),
            ("failures", str(one.cost.failed), str(two.cost.failed), ""),
        ]
    return table


def notes(shown: Board, first: str, second: str) -> list[str]:
    """Items gained and lost, and what makes the numbers less than certain."""
    said = []
    counted = [discordance(shown, first, second, seed) for seed in shown.matrix.seeds]
    known = [pair for pair in counted if pair is not None]
    if known:
        solved, lost = np.array(known, dtype=float).mean(axis=0)
        said.append(f"greedy answers, mean over {len(known)} seeds: {solved:.1f} newly solved, {lost:.1f} newly lost")
    said += [note for note in shown.notes if note.startswith("mixed")]
    return said


def discordance(shown: Board, first: str, second: str, seed: int) -> tuple[int, int] | None:
    """Items that only the first method solves greedily, and only the second; None without both trials' items."""
    trials = [shown.matrix.trials.get((name, seed)) for name in (first, second)]
    answers = [solved(trial) for trial in trials if trial is not None]
    if len(answers) < 2 or not all(answers):
        return None
    shared = answers[0].keys() & answers[1].keys()
    gained = sum(answers[0][item] > answers[1][item] for item in shared)
    return gained, sum(answers[0][item] < answers[1][item] for item in shared)


def solved(trial: Trial) -> dict[tuple[str, str], bool]:
    """(task, key) -> whether the last evaluation's greedy answer was right."""
    return {
        (str(item.get("task")), str(item.get("key"))): bool(item.get("greedy"))
        for item in read_lines(trial.path / "items.jsonl")
    }
