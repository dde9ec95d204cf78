"""How many seeds a suite needs to show an effect, judged by the spread of the trials it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.errors import UsageError
from harness.leaderboard import statistics
from harness.leaderboard.model import LEAST_SEEDS, LEVEL, Board

__all__ = ["SHOWN", "Plan", "Spread", "plan", "spreads"]

SHOWN = (5, 10, 20)  # seeds for which the detectable effect is told
ENDS = ("quietest", "noisiest")


@dataclass(frozen=True)
class Spread:
    """A standard deviation over seeds of the paired difference to the baseline, and whose it is."""

    name: str
    deviation: float


@dataclass(frozen=True)
class Plan:
    """What one spread asks for."""

    spread: Spread
    alone: int  # seeds for a comparison planned as the only one
    among: int  # seeds on a board of so many comparisons
    detectable: tuple[float, ...]  # least effect found on the board with each of SHOWN


def spreads(board: Board) -> list[Spread]:
    """The quietest, the median and the noisiest method of a board; UsageError before two methods share two seeds."""
    against = board.matrix.scores[board.matrix.row(board.baseline)]
    found = []
    for row in board.rows:
        pairs = statistics.paired_values(row.scores, against)
        if row.role == "method" and pairs.size >= 2:
            found.append(Spread(row.method, float(statistics.moments(pairs)[2])))
    found.sort(key=lambda spread: spread.deviation)
    if not found:
        raise UsageError(
            f"no method of {board.suite} shares two ended seeds with {board.baseline}: run more, or give --std"
        )
    if len(found) == 1:
        return found
    middle = Spread(f"median of {len(found)}", float(np.median([spread.deviation for spread in found])))
    first, last = found[0], found[-1]
    return [
        Spread(f"quietest: {first.name}", first.deviation),
        middle,
        Spread(f"noisiest: {last.name}", last.deviation),
    ]


def plan(found: Sequence[Spread], effect: float, *, power: float = 0.8, comparisons: int = 1) -> list[Plan]:
    """Seeds that each spread needs to find `effect` with the chance `power`; UsageError where no number does."""
    return [one_plan(spread, effect, power, comparisons) for spread in found]


def one_plan(spread: Spread, effect: float, power: float, comparisons: int) -> Plan:
    """The plan of one spread."""

    def seeds(family: int) -> int:
        return statistics.seeds_needed(
            effect, spread.deviation, power=power, level=LEVEL, comparisons=family, least=LEAST_SEEDS
        )

    def least(seeds: int) -> float:
        return statistics.minimum_detectable_effect(
            seeds, spread.deviation, power=power, level=LEVEL, comparisons=comparisons
        )

    return Plan(spread, seeds(1), seeds(comparisons), tuple(least(n) for n in SHOWN))
