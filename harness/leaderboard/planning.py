"""How many seeds a suite needs to show an effect, judged by the spread of the trials it has, or of reference ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.errors import UsageError
from harness.files import read_json
from harness.leaderboard import statistics
from harness.leaderboard.model import LEAST_SEEDS, LEVEL, Board
from harness.resources import data_path

__all__ = ["FEW_SEEDS", "SHOWN", "Plan", "Reference", "Spread", "plan", "reference", "spreads"]

FEW_SEEDS = 5  # below, a deviation is hardly measured
SHOWN = (5, 10, 20)  # seeds for which the detectable effect is told
ENDS = ("quietest", "noisiest")


@dataclass(frozen=True)
class Spread:
    """A standard deviation over seeds of the paired difference to the baseline, and whose it is."""

    name: str
    deviation: float
    seeds: int = 0  # that it was measured from; 0 where it was given


@dataclass(frozen=True)
class Plan:
    """What one spread asks for."""

    spread: Spread
    alone: int  # seeds for a comparison planned as the only one
    among: int  # seeds on a board of so many comparisons
    alone_range: tuple[float, float] | None  # both at the ends of the deviation's 95 % interval, inf beyond a million;
    among_range: tuple[float, float] | None  # None where the deviation was given
    detectable: tuple[float, ...]  # least effect found on the board with each of SHOWN


@dataclass(frozen=True)
class Reference:
    """What the reference results of a bundled suite tell where it has not run here."""

    spreads: tuple[Spread, ...]
    baseline: str
    comparisons: int
    seeds: int


def spreads(board: Board) -> list[Spread]:
    """The quietest, the median and the noisiest method of a board; UsageError before two methods share two seeds."""
    methods = {row.method: row.scores for row in board.rows if row.role == "method"}
    found = deviations(methods, board.matrix.scores[board.matrix.row(board.baseline)])
    if not found:
        raise UsageError(f"no method of {board.suite} shares two ended seeds with {board.baseline}: run more seeds")
    return summary(found)


def reference(suite: str) -> Reference | None:
    """The spread of a bundled suite's reference results (`results/SUITE`), None where there are none at hand."""
    try:
        board = read_json(data_path("results") / suite / "leaderboard.json")
    except UsageError:  # a wheel, which does not hold them
        return None
    rows = [row for row in board.get("rows", ()) if isinstance(row, dict) and row.get("scores")]
    against = next((as_array(row["scores"]) for row in rows if row.get("role") == "baseline"), None)
    if against is None:
        return None
    found = deviations({row["method"]: as_array(row["scores"]) for row in rows if row["role"] == "method"}, against)
    if not found:
        return None
    return Reference(tuple(summary(found)), str(board["baseline"]), int(board.get("comparisons") or 1), len(against))


def as_array(scores: Sequence[float | None]) -> NDArray[np.float64]:
    """Scores by seed, [S]; NaN where a trial is missing."""
    return np.array([math.nan if score is None else score for score in scores], dtype=float)


def deviations(methods: Mapping[str, NDArray[np.float64]], against: NDArray[np.float64]) -> list[Spread]:
    """The spread of every method's paired difference, smallest first; those with fewer than two pairs left out."""
    paired = {name: statistics.paired_values(scores, against) for name, scores in methods.items()}
    found = [Spread(name, float(statistics.moments(x)[2]), x.size) for name, x in paired.items() if x.size >= 2]
    return sorted(found, key=lambda spread: spread.deviation)


def summary(found: Sequence[Spread]) -> list[Spread]:
    """The ends and the middle of several spreads; one as it is.

    The middle counts the seeds of one method, the fewest: all share the baseline's, so that many methods on two seeds
    say hardly more than one does.
    """
    if len(found) == 1:
        return list(found)
    middle = Spread(
        f"median of {len(found)}",
        float(np.median([spread.deviation for spread in found])),
        min(spread.seeds for spread in found),
    )
    ends = [
        Spread(f"{end}: {spread.name}", spread.deviation, spread.seeds)
        for end, spread in zip(ENDS, (found[0], found[-1]), strict=True)
    ]
    return [ends[0], middle, ends[1]]


def plan(found: Sequence[Spread], effect: float, *, power: float = 0.8, comparisons: int = 1) -> list[Plan]:
    """Seeds that each spread needs to find `effect` with the chance `power`; UsageError where no number does."""
    return [one_plan(spread, effect, power, comparisons) for spread in found]


def one_plan(spread: Spread, effect: float, power: float, comparisons: int) -> Plan:
    """The plan of one spread."""

    def seeds(family: int) -> int:
        return statistics.seeds_needed(
            effect, spread.deviation, power=power, level=LEVEL, comparisons=family, least=LEAST_SEEDS
        )

    def between(family: int) -> tuple[float, float] | None:
        if not spread.seeds:
            return None
        return statistics.seeds_range(
            effect, spread.deviation, spread.seeds, power=power, level=LEVEL, comparisons=family, least=LEAST_SEEDS
        )

    def least(seeds: int) -> float:
        return statistics.minimum_detectable_effect(
            seeds, spread.deviation, power=power, level=LEVEL, comparisons=comparisons
        )

    return Plan(
        spread,
        seeds(1),
        seeds(comparisons),
        between(1),
        between(comparisons),
        tuple(least(n) for n in SHOWN),
    )
