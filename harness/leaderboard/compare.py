"""Rows against the baseline: one family of all methods that make a claim, the controls shown beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from harness.leaderboard import statistics
from harness.leaderboard.matrix import Matrix
from harness.leaderboard.model import LEAST_SEEDS, LEVEL, UNTRAINED, Difference, Row

__all__ = ["compare", "difference"]

Array = NDArray[np.float64]

CLAIMS = ("better", "worse")


def compare(
    scores: Matrix, rows: Sequence[Row], reference: str, comparisons: int, claims: tuple[str, str] = CLAIMS
) -> list[Row]:
    """The rows with their differences to `reference`; only rows of role 'method' are tested, together.

    `claims` are the words for a method that is sure to have more, and less.
    """
    base = scores.row(reference)
    against = scores.scores[base]
    tested = [row.method for row in rows if row.role == "method"]
    pairs = [claimable(row.scores, against) for row in rows if row.role == "method"]
    p_holm = dict(zip(tested, statistics.holm([statistics.paired_p(x) for x in pairs], comparisons), strict=True))
    p_sign = dict(zip(tested, statistics.holm([statistics.sign_flip_p(x) for x in pairs], comparisons), strict=True))
    compared = []
    for row in rows:
        if row.method == reference:
            compared.append(row)
            continue
        values = scores.untrained[base] if row.role == UNTRAINED else scores.final[scores.row(row.method)]
        found = replace(
            difference(row.scores, against, comparisons),
            p_holm=float(p_holm.get(row.method, math.nan)),
            p_sign=float(p_sign.get(row.method, math.nan)),
            p_better=statistics.probability_of_improvement(values, scores.final[base]),
        )
        if found.interval.n < statistics.least_seeds(LEVEL, comparisons):
            found = replace(found, p_sign=math.nan)  # no pattern of so few signs could reach the level
        compared.append(replace(row, difference=replace(found, verdict=verdict(found, claims))))
    return compared


def claimable(values: Array, against: Array) -> Array:
    """A row's differences by seed, none where there are too few to claim anything."""
    pairs = statistics.paired_values(values, against)
    return pairs if pairs.size >= LEAST_SEEDS else pairs[:0]


def difference(values: Array, against: Array, comparisons: int = 1) -> Difference:
    """One paired difference, [S] - [S]; its interval holds simultaneously over so many comparisons (Bonferroni)."""
    pairs = statistics.paired_values(values, against)
    interval = statistics.t_interval(pairs, 1 - LEVEL / max(comparisons, 1))
    p = statistics.paired_p(pairs)
    sign = statistics.sign_flip_p(pairs) if pairs.size >= statistics.least_seeds(LEVEL) else math.nan
    return Difference(interval, p, p_holm=math.nan, p_sign=sign, p_better=math.nan, verdict="")


def verdict(found: Difference, claims: tuple[str, str] = CLAIMS) -> str:
    """One of `claims` where Holm's p is below the level (it is NaN below five seeds), else nothing."""
    if math.isnan(found.p_holm) or found.p_holm >= LEVEL:
        return ""
    more, less = claims
    return more if found.interval.mean > 0 else less
