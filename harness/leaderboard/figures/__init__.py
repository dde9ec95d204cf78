"""The board's figures: functions of a board that return matplotlib figures, and files made of them.

`save_figures` writes all that a board has data for. Every figure is 800 pixels wide, readable in grey and by
colour-blind readers, and says in its title which suite and how many seeds it shows and what its bands are; one that
has nothing to show raises NoDataError. `docs/figures.md` explains how to read them.
"""

from __future__ import annotations

from harness.leaderboard.figures.budget import curves, generated_curves, trained_curves
from harness.leaderboard.figures.canvas import NoDataError
from harness.leaderboard.figures.charges import cost_breakdown
from harness.leaderboard.figures.differences import forest, task_forest
from harness.leaderboard.figures.files import FIGURES, FORMATS, figure_bytes, save_figures, write_figure
from harness.leaderboard.figures.items import discordance
from harness.leaderboard.figures.profiles import performance_profiles
from harness.leaderboard.figures.rewards import reward_gap
from harness.leaderboard.figures.targets import survival
from harness.leaderboard.figures.training import training_health
from harness.leaderboard.figures.wins import win_matrix

__all__ = [
    "FIGURES", "FORMATS", "NoDataError", "cost_breakdown", "curves", "discordance", "figure_bytes", "forest",
    "generated_curves", "performance_profiles", "reward_gap", "save_figures", "survival", "task_forest",
    "trained_curves", "training_health", "win_matrix", "write_figure",
]  # fmt: skip
