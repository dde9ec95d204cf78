"""Many lines in one kind of plot: a few methods a panel in the board's order, the baseline in each, a legend inside."""

from __future__ import annotations

from collections.abc import Sequence

from harness.leaderboard.model import Board

__all__ = ["GROUP", "groups"]

GROUP = 6  # lines beside the baseline that a reader can follow in one panel


def groups(board: Board, drawn: Sequence[str], most: int = GROUP) -> list[list[str]]:
    """The methods to draw, a list a panel: the baseline first in each, then as many as follow in the board's order."""
    base = [method for method in drawn if method == board.baseline]
    others = [row.method for row in board.rows if row.method in drawn and row.method not in base]
    if not others:
        return [base] if base else []
    count = -(-len(others) // most)
    size = -(-len(others) // count)  # panels of equal size
    return [[*base, *others[start : start + size]] for start in range(0, len(others), size)]
