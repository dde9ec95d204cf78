"""What a board of so many seeds can find."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.leaderboard import statistics

if TYPE_CHECKING:
    from harness.leaderboard.model import Row

__all__ = ["detectable"]

LEVEL = 0.05
LEAST_SEEDS = 5


def detectable(rows: Sequence[Row], baseline: str, comparisons: int) -> tuple[float, int]:
    """The least true difference found with a chance of 80 %, and by how many seeds; (NaN, 0) below five.

    At the median spread of the methods' paired differences, the fewest seeds of a method that has five, and Holm's
    first step, so the chance is a lower bound.
    """
    against = next((row.scores for row in rows if row.method == baseline), None)
    if against is None:
        return math.nan, 0
    pairs = [statistics.paired_values(row.scores, against) for row in rows if row.role == "method"]
    pairs = [one for one in pairs if one.size >= LEAST_SEEDS]
    if not pairs:
        return math.nan, 0
    spread = float(np.median([float(statistics.moments(one)[2]) for one in pairs]))
    seeds = min(one.size for one in pairs)
    return statistics.minimum_detectable_effect(seeds, spread, level=LEVEL, comparisons=comparisons), seeds
