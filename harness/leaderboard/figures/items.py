"""Two methods problem by problem: which ones only the first solves, and which only the second."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from harness.errors import UsageError
from harness.leaderboard.colours import looks
from harness.leaderboard.figures.canvas import (
    GRID,
    NoDataError,
    belongs,
    figure_function,
    new_figure,
    small_title,
    tip,
    titled,
)
from harness.leaderboard.figures.names import shorten
from harness.leaderboard.known import instead
from harness.leaderboard.model import UNTRAINED, Board
from harness.leaderboard.solved import right, said

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Discordance", "count_discordance", "discordance"]

Item = tuple[str, str]  # task, key
BLUE, ORANGE, GREY = "#3d9fd9", "#e69f00", "#777777"
MOST_SEEDS = 10  # cells a side up to which each count is written


@dataclass(frozen=True)
class Discordance:
    """Greedy answers of two methods on the seeds and problems that both have."""

    seeds: tuple[int, ...]
    gained: NDArray[np.int64]  # [S], only the first solves
    lost: NDArray[np.int64]  # [S], only the second
    table: NDArray[np.int64]  # [S + 1, S + 1], problems by how many seeds of the first, and of the second, solve them
    tasks: dict[str, tuple[int, int]]  # task -> gained and lost over all seeds


@figure_function
def discordance(board: Board, first: str, second: str) -> Figure:
    """Left every problem by the seeds of either method that solve it; right what is won and lost in each seed."""
    known = [*board.matrix.methods, UNTRAINED]
    for name in (first, second):
        if name not in known:
            raise UsageError(f"no method {name!r} in {board.suite}.{instead(name, known)}")
    found = count_discordance(board, first, second)
    names = (shorten(first, 40), shorten(second, 40))
    figure = new_figure(max(3.3, 1.0 + 0.24 * len(found.seeds)))
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.1))
    draw_table(left, found, names)
    draw_seeds(right, board, found, (first, second))
    total = int(found.table.sum())
    by_task = "; ".join(f"{task} +{won} / \N{MINUS SIGN}{lost}" for task, (won, lost) in found.tasks.items())
    count = len(found.seeds)
    titled(
        figure,
        f"{board.suite}: problems that {names[0]} and {names[1]} solve, {count} seed{'s' * (count != 1)}",
        f"Greedy answers to {total} problems after training. Left: problems by the number of seeds that solve them; "
        f"off the diagonal the methods disagree. Right: solved by one method alone. By task, all seeds: {by_task}.",
    )
    return figure


def count_discordance(board: Board, first: str, second: str) -> Discordance:
    """Count over the seeds whose two trials kept their items; NoDataError without one."""
    pairs: dict[int, tuple[dict[Item, bool], dict[Item, bool]]] = {}
    for seed in board.matrix.seeds:
        one, two = (answers(board, name, seed) for name in (first, second))
        if one and two:
            pairs[seed] = (one, two)
    shared = sorted(set.intersection(*(set(one) & set(two) for one, two in pairs.values()))) if pairs else []
    if not shared:
        raise NoDataError(f"{first} and {second} share no seed whose answers to each problem were kept")
    ones, twos = (np.array([[pair[i][item] for item in shared] for pair in pairs.values()]) for i in (0, 1))
    size = len(pairs) + 1
    cells = ones.sum(axis=0) * size + twos.sum(axis=0)
    won, lost = ones & ~twos, twos & ~ones
    tasks: dict[str, Counter[str]] = {}
    for place, (task, _) in enumerate(shared):
        kept = tasks.setdefault(task, Counter())
        kept["won"] += int(won[:, place].sum())
        kept["lost"] += int(lost[:, place].sum())
    return Discordance(
        tuple(pairs), won.sum(axis=1), lost.sum(axis=1), np.bincount(cells, minlength=size**2).reshape(size, size),
        {task: (kept["won"], kept["lost"]) for task, kept in tasks.items()},
    )  # fmt: skip


def answers(board: Board, method: str, seed: int) -> dict[Item, bool]:
    """(task, key) -> whether the greedy answer was right; {} where it was not kept."""
    if method == UNTRAINED:
        return {key: bool(right(item)) for key, item in said(board, method, seed).items()}
    trial = board.matrix.trials.get((method, seed))
    kept = trial.answers if trial is not None and trial.ended else {}
    return {
        (task, key): bool(value) for task, one in kept.items() for key, value in zip(one.keys, one.greedy, strict=True)
    }


def draw_table(axes: Axes, found: Discordance, names: tuple[str, str]) -> None:
    """Cells, the darker the more problems; blue where the first method solves them more often, orange the second."""
    from matplotlib.colors import to_rgb

    table, size = found.table, len(found.table)
    rows, columns = np.indices(table.shape)
    shades = np.array([to_rgb(ORANGE), to_rgb(GREY), to_rgb(BLUE)])[np.sign(rows - columns) + 1]
    depth = np.where(table > 0, 0.1 + 0.75 * np.sqrt(table / table.max()), 0.0)[..., None]
    axes.imshow(1 - depth * (1 - shades), origin="lower", aspect="equal", interpolation="nearest")
    for i, j in zip(*np.nonzero(table), strict=True):
        count = int(table[i, j])
        if size <= MOST_SEEDS + 1:
            axes.text(j, i, str(count), ha="center", va="center", fontsize=7)
        tip(axes, j, i, f"{count} problems: {i} seeds of {names[0]}, {j} of {names[1]} solve them")
    ticks = np.unique(np.linspace(0, size - 1, min(size, 6)).astype(int))
    axes.set_xticks(ticks)
    axes.set_yticks(ticks)
    axes.set_xlabel(f"seeds of {names[1]}", fontsize=8.5)
    axes.set_ylabel(f"seeds of {names[0]}", fontsize=8.5)
    small_title(axes, "problems by seeds that solve them")


def draw_seeds(axes: Axes, board: Board, found: Discordance, methods: tuple[str, str]) -> None:
    """A bar to either side for every seed, and their means."""
    look = looks(board.matrix.methods, board.baseline)
    heights = np.arange(len(found.seeds))[::-1]
    for values, sign, method, hatch in ((found.gained, 1, methods[0], ""), (found.lost, -1, methods[1], "////")):
        bars = axes.barh(heights, sign * values, 0.72, color=look[method].colour, alpha=0.75, hatch=hatch,
                         edgecolor="white" if look[method].colour == "#000000" else "black", linewidth=0.4)  # fmt: skip
        for bar, value, height in zip(bars, values, heights, strict=True):
            belongs(bar, method)
            axes.annotate(str(value), (sign * value, height), (3 * sign, 0), textcoords="offset points", fontsize=7.5,
                          va="center", ha="left" if sign > 0 else "right")  # fmt: skip
            tip(axes, sign * value / 2, height, f"{value} problems that only {method} solves", method)
    reach = 1.18 * max(1, int(found.gained.max()), int(found.lost.max()))
    axes.set_xlim(-reach, reach)
    axes.axvline(0, color="black", linewidth=1)
    axes.set_yticks(heights, [f"seed {seed}" for seed in found.seeds])
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{abs(value):.0f}")
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    lost, gained = found.lost.mean(), found.gained.mean()
    axes.set_xlabel(f"only {shorten(methods[1], 24)}  |  only {shorten(methods[0], 24)}", fontsize=8.5)
    small_title(axes, f"solved by one alone; means {lost:.1f} | {gained:.1f}")
