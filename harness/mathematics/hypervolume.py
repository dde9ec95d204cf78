"""The volume that a set of points dominates, every objective to be maximised."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["hypervolume"]

Point = tuple[float, ...]


def hypervolume(points: Sequence[Point], reference: Point) -> float:
    """The volume between the reference and the points, each of which dominates the box below it.

    Points that do not exceed the reference in every objective add nothing. Slices along the last objective; meant for
    the few points of a front.
    """
    inside = [point for point in points if all(x > y for x, y in zip(point, reference, strict=True))]
    if not inside:
        return 0.0
    if len(reference) == 1:
        return max(point[0] for point in inside) - reference[0]
    levels = sorted({point[-1] for point in inside}, reverse=True)
    total = 0.0
    for level, below in zip(levels, [*levels[1:], reference[-1]], strict=True):
        total += (level - below) * hypervolume([p[:-1] for p in inside if p[-1] >= level], reference[:-1])
    return total
