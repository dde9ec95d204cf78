"""What stands under or above a board: warnings, what to know, and what so many seeds can find."""

from __future__ import annotations

import math

from harness.leaderboard.cells import number, scale, title
from harness.leaderboard.model import Board

__all__ = ["footnotes"]


def footnotes(board: Board) -> list[str]:
    """Warnings first, then what to know: one sentence each."""
    lines = [f"WARNING: {warning}" for warning in board.warnings]
    if board.provisional:
        lines.append("Provisional: fewer than 5 seeds, so this board claims nothing.")
    lines += list(board.notes)
    if not board.metric.rising:
        lines.append(
            f"More {title(board)} is not better: verdicts say higher or lower, and rank 1, the first letter and "
            "P(better) go to the highest."
        )
    if any(row.inert for row in board.rows):
        lines.append("inert: the method's clip never took a token's gradient away here: the clip is not tested.")
    beyond = [f"{row.method} on {' and '.join(row.unweighed)}" for row in board.rows if row.unweighed]
    if beyond:
        lines.append(
            f"unweighed: trained on reward columns that this suite weighs 0, labels which the others did without: "
            f"{', '.join(beyond)}."
        )
    if board.target is not None:
        lines.append(
            f"to target: {number(scale(board) * board.target.score)}, {board.target.rule}; "
            "a trial that misses it counts as its whole budget."
        )
    return lines + power_note(board)


def power_note(board: Board) -> list[str]:
    """What a board of so many seeds can find."""
    effect, seeds = board.detectable
    if math.isnan(effect):
        return []
    size = f"{number(scale(board) * effect)}{' points' if scale(board) == 100 else ''}"
    said = f"With {seeds} seeds this board finds differences of about {size}: smaller ones show in fewer than 80 of 100"
    return [f"{said} such boards (median spread of its methods; `harness power` tells the seeds that an effect needs)."]
