"""Two methods of a suite against each other: one comparison, planned as such, so its interval is not widened."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.errors import UsageError
from harness.leaderboard import statistics
from harness.leaderboard.cells import number, points, probability, ratio, scale, seconds, title, tuned, whole
from harness.leaderboard.compare import difference
from harness.leaderboard.costs import Cost
from harness.leaderboard.known import instead
from harness.leaderboard.model import LEAST_SEEDS, LEVEL, UNTRAINED, Board, Difference, Row
from harness.leaderboard.solved import Items, Problems, items

__all__ = ["Duel", "Line", "duel"]

MOST_TASKS = 4  # lines of tasks: with more, those that differ most


@dataclass(frozen=True)
class Line:
    """One line of the table: what it is about, as text and as numbers."""

    label: str
    first: str
    second: str
    difference: str = ""
    values: tuple[float, float] = (math.nan, math.nan)
    kind: str = "cost"  # result, task or cost


@dataclass(frozen=True)
class Duel:
    """What `harness compare` shows."""

    suite: str
    metric: str
    names: tuple[str, str]
    difference: Difference
    p_better: float
    sentence: str
    sure: str
    lines: tuple[Line, ...]
    items: Items | None
    notes: tuple[str, ...]


def duel(shown: Board, first: str, second: str, *, problems: Problems = lambda _task, _key: None) -> Duel:
    """Compare two rows of a board; either may be `untrained`.

    `problems(task, key)` gives prompt and gold of an item, where they are at hand. Raises UsageError for a method that
    the suite does not have, and for one compared with itself.
    """
    known = [*shown.matrix.methods, UNTRAINED]
    for name in (first, second):
        if name not in known:
            raise UsageError(f"no method {name!r} in {shown.suite}.{instead(name, known)}")
    if first == second:
        raise UsageError(f"{first!r} stands on both sides: name two methods of {shown.suite}, or `{UNTRAINED}`")
    one, two = shown.row(first), shown.row(second)
    found = difference(one.scores, two.scores)
    better = statistics.probability_of_improvement(finals(shown, first), finals(shown, second))
    told = items(shown, first, second, problems)
    return Duel(
        suite=shown.suite,
        metric=title(shown),
        names=(first, second),
        difference=found,
        p_better=better,
        sentence=sentence(shown, first, second, found),
        sure=sure(found, better),
        lines=(*results(shown, one, two, found), *costs(one.cost, two.cost), *searched(one, two)),
        items=told,
        notes=tuple(notes(shown, (one, two), told)),
    )


def finals(shown: Board, name: str) -> NDArray[np.float64]:
    """Scores by seed and task, [S, K]."""
    matrix = shown.matrix
    if name == UNTRAINED:
        return matrix.untrained[matrix.row(shown.baseline)]
    return matrix.final[matrix.row(name)]


def sentence(shown: Board, first: str, second: str, found: Difference) -> str:
    """The answer."""
    n = found.interval.n
    if n == 0:
        return f"{first} and {second} have no seed in common yet"
    unit = " points" if scale(shown) == 100 else ""
    size = f"{points(shown, found.interval, sign=True)}{unit} of {title(shown)}"
    if n < LEAST_SEEDS:
        seeds = f"{n} seed{'s' * (n != 1)}"
        return f"{first} minus {second}: {size} on {seeds}; fewer than {LEAST_SEEDS}, so nothing is claimed"
    if found.p < LEVEL:
        more, less = shown.metric.claims
        word = more if found.interval.mean > 0 else less
        return f"{first} is {word} than {second}: {size} on {n} paired seeds"
    return f"{first} and {second} cannot be told apart: {size} on {n} paired seeds"


def sure(found: Difference, better: float) -> str:
    """How sure that is."""
    n = found.interval.n
    sign = probability(found.p_sign)
    if n and math.isnan(found.p_sign):
        least = statistics.least_seeds(LEVEL)
        sign = f"- ({n} of the {least} seeds it needs)" if n < least else sign
    return f"p {probability(found.p)} (paired t), sign flip {sign}, P(better) {probability(better)}"


def results(shown: Board, one: Row, two: Row, found: Difference) -> list[Line]:
    """What they scored, over all and by task."""
    by = scale(shown)

    def line(label: str, first: float, second: float, kind: str) -> Line:
        texts = (number(by * first), number(by * second), number(by * (first - second), sign=True))
        return Line(label, *texts, values=(first, second), kind=kind)

    paired = points(shown, found.interval, sign=True)
    head = Line(title(shown), points(shown, one.score), points(shown, two.score), paired,
                values=(one.score.mean, two.score.mean), kind="result")  # fmt: skip
    tasks = [
        line(task, one.tasks.get(task, math.nan), two.tasks.get(task, math.nan), "task")
        for task in (shown.matrix.tasks if len(shown.matrix.tasks) > 1 else ())
    ]
    area = [] if shown.metric.area else [line("area", one.area, two.area, "result")]
    return [head, *tasks, *area]


def costs(one: Cost | None, two: Cost | None) -> list[Line]:
    """What each cost; nothing where neither trained."""
    if one is None and two is None:
        return []

    def line(label: str, name: str, form: Callable[[float], str]) -> Line:
        values = [math.nan if cost is None else float(getattr(cost, name)) for cost in (one, two)]
        return Line(label, form(values[0]), form(values[1]), values=(values[0], values[1]))

    return [
        line("budget spent", "share", ratio),
        line("steps", "steps", whole),
        line("tokens generated", "generated", thousands),
        line("waste", "waste", ratio),
        line("extra passes", "extra", ratio),
        line("time a trial", "seconds", seconds),
        line("failures", "failed", whole),
    ]


def searched(one: Row, two: Row) -> list[Line]:
    """What was spent on choosing their hyper-parameters, on the track of equal tuning."""
    if not one.tuning.trials and not two.tuning.trials:
        return []
    return [Line("tuning", tuned(one), tuned(two), values=(one.tuning.cost, two.tuning.cost))]


def thousands(value: float) -> str:
    """A count of tokens: 161k."""
    return number(value / 1000, digits=0) + "k" if value >= 10_000 else number(value, digits=0)


def notes(shown: Board, rows: Sequence[Row], told: Items | None) -> list[str]:
    """What makes the numbers less than certain, or keeps items from being shown."""
    said = []
    exported = any(trial.told for trial in shown.matrix.trials.values())
    if told is None:
        lacking = "an export lacks" if exported else "older trials lack"
        whose = f" (`untrained.jsonl`, which {lacking})" if UNTRAINED in {row.method for row in rows} else ""
        said.append(f"no items to compare: no seed has the answers of both{whose}")
    elif told.texts_missing and exported:
        said.append("an export has no answers to show: name the directory of the runs to read them")
    elif told.texts_missing:
        said.append("answers that are not shown are of trials made before answers were kept; a new run keeps them")
    said += [
        f"{row.method}: {row.cost.failed} of {row.n} trials failed, scored as docs/rules.md says"
        for row in rows
        if row.cost and row.cost.failed
    ]
    said += [f"{row.method}: {row.n} of {row.expected} trials have ended" for row in rows if row.n < row.expected]
    return said + [note for note in shown.notes if note.startswith("mixed")]
