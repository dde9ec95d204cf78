"""Statistics, tables and figures: from trial directories to which method is better, and how surely."""

from __future__ import annotations

from harness.leaderboard.build import board
from harness.leaderboard.model import Board, Difference, Row
from harness.leaderboard.trials import Trial, read_trials

__all__ = ["Board", "Difference", "Row", "Trial", "board", "read_trials"]
