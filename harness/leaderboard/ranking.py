"""Which ranks the methods may hold, and which cannot be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from harness.leaderboard import statistics

if TYPE_CHECKING:
    from harness.leaderboard.model import Row

__all__ = ["ranked"]

LEVEL = 0.05


def ranked(rows: Sequence[Row]) -> list[Row]:
    """The rows with their rank range and letters; controls hold no rank.

    The family is every pair of the methods planned, so a method without trials widens the others' ranges.
    """
    places = [place for place, row in enumerate(rows) if row.role in {"method", "baseline"}]
    if not places:
        return list(rows)
    scores = np.stack([rows[place].scores for place in places])
    ranges = statistics.rank_range(scores, LEVEL)
    order = sorted(range(len(places)), key=lambda i: -np.nan_to_num(rows[places[i]].score.mean, nan=-np.inf))
    shared = statistics.letters(statistics.pairwise_p(scores) < LEVEL, order)
    made = list(rows)
    for place, (low, high), letters in zip(places, ranges.tolist(), shared, strict=True):
        if rows[place].n:
            made[place] = replace(rows[place], rank=(low, high), letters=letters)
    return made
