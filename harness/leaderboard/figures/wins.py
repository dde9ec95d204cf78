"""Every method against every other: how often a run of one beats a run of the other, and which differ for sure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from harness.leaderboard import statistics
from harness.leaderboard.columns import probability
from harness.leaderboard.figures.canvas import (
    NoDataError,
    belongs,
    figure_function,
    new_figure,
    seeds_text,
    tip,
    titled,
)
from harness.leaderboard.figures.names import shown_names
from harness.leaderboard.model import LEAST_SEEDS, LEVEL, Board

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["win_matrix"]

Array = NDArray[np.float64]

DIGITS = 26  # methods up to which the cells have room for numbers
MOST_LETTERS = 5  # beyond, ranks say it shorter
RANKED = ("method", "baseline")
MAP = "cividis"  # blue to yellow, told apart by all readers; its lightness rises all the way, so grey tells it too


@figure_function
def win_matrix(board: Board) -> Figure:
    """P(a run of the row beats a run of the column), with marks where the paired test tells them apart."""
    matrix = board.matrix
    methods = [row.method for row in board.rows if row.method in matrix.methods and row.n]
    if len(methods) < 2:
        raise NoDataError("fewer than two methods have results")
    places = [matrix.row(method) for method in methods]
    chance = chances(matrix.final[places])
    p = tested(board, methods)
    claimed = p < LEVEL
    marks, meaning = beside(board, methods) if np.isfinite(p).any() else ([""] * len(methods), "")
    figure = new_figure(max(2.4, 1.6 + (0.235 if len(methods) <= DIGITS else 0.17) * len(methods)))
    axes = figure.subplots()
    lead = leads(matrix.scores[places])
    draw_matrix(axes, methods, marks, chance=chance, p=p, lead=np.where(claimed, lead, 0.0))
    ranked = sum(row.role in RANKED for row in board.rows)
    pairs = ranked * (ranked - 1) // 2
    told = (
        f"Triangles: the row is {' or '.join(board.metric.claims)} than the column (paired t, Holm over {pairs} pairs, "
        ".05); "
        f"{meaning}; controls are not tested."
        if meaning
        else f"Fewer than {LEAST_SEEDS} seeds in common: no pair is tested."
    )
    titled(
        figure,
        f"{board.suite}: probability that a run of the row beats one of the column, {seeds_text(board)}",
        f"Percent, ties one half, mean over tasks; 50 is a coin; light: the row wins. No interval is shown. {told}",
    )
    return figure


def beside(board: Board, methods: list[str]) -> tuple[list[str], str]:
    """What stands beside each name, and what it means: letters, or where they get long the ranks it may hold."""
    rows = [board.row(method) for method in methods]
    if max(len(row.letters) for row in rows) <= MOST_LETTERS:
        return [row.letters for row in rows], "methods that share a letter cannot be told apart"
    ranks = [f"{row.rank[0]}\N{EN DASH}{row.rank[1]}" if row.rank else "" for row in rows]
    return ranks, "beside the names the ranks that a method may hold"


def tested(board: Board, methods: list[str]) -> Array:
    """Holm-adjusted p of every two methods, [M, M]; NaN on the diagonal, for controls and below five common seeds.

    The family is that of the board's letters: all pairs of methods planned.
    """
    ranked = [row for row in board.rows if row.role in RANKED]
    family = statistics.pairwise_p(np.stack([row.scores for row in ranked]), LEAST_SEEDS)
    np.fill_diagonal(family, np.nan)
    place = {row.method: i for i, row in enumerate(ranked)}
    found = np.full((len(methods), len(methods)), np.nan)
    for i, one in enumerate(methods):
        for j, two in enumerate(methods):
            if one in place and two in place:
                found[i, j] = family[place[one], place[two]]
    return found


def chances(final: Array) -> Array:
    """The probability of improvement of every two methods, [M, S, K] -> [M, M]; NaN on the diagonal."""
    found = np.full((len(final), len(final)), np.nan)
    for one in range(len(final)):
        for two in range(one):
            found[one, two] = statistics.probability_of_improvement(final[one], final[two])
            found[two, one] = 1 - found[one, two]
    return found


def leads(scores: Array) -> Array:
    """The paired mean difference of every two methods, [M, S] -> [M, M]: it says which one a claim is for.

    The chance of a win may lean the other way: it counts how often, not how much.
    """
    return statistics.moments(scores[:, None] - scores[None])[1]


def draw_matrix(axes: Axes, methods: list[str], marks: list[str], *, chance: Array, p: Array, lead: Array) -> None:
    """Cells, numbers and marks; `lead` is 0 where nothing is claimed."""
    import matplotlib as mpl

    names = shown_names(methods, 26 if len(methods) <= DIGITS else 22)
    colours = mpl.colormaps[MAP].copy()
    colours.set_bad("#ffffff")
    shown = np.ma.masked_invalid(chance)
    axes.imshow(shown, cmap=colours, vmin=0.0, vmax=1.0, aspect="auto", interpolation="nearest")
    size = 7.0 if len(methods) <= DIGITS else 5.0
    for i, j in zip(*np.nonzero(np.isfinite(chance)), strict=True):
        sign = "▲" if lead[i, j] > 0 else "▼" if lead[i, j] < 0 else ""
        text = f"{100 * chance[i, j]:.0f}" if len(methods) <= DIGITS else sign
        dark = "white" if chance[i, j] < 0.5 else "black"
        if text:
            label = axes.text(j, i, text, ha="center", va="center", fontsize=size, color=dark,
                              fontweight="bold" if sign else "normal")  # fmt: skip
            belongs(label, methods[i])
        if sign and len(methods) <= DIGITS:
            axes.text(j + 0.47, i - 0.45, sign, ha="right", va="top", fontsize=5.5, color=dark)
        said = "" if np.isnan(p[i, j]) else f", Holm p {probability(float(p[i, j]))}"
        tip(axes, j, i, f"{methods[i]} beats {methods[j]}: {100 * chance[i, j]:.0f}%{said}", methods[i])
    rows = [f"{names[m]}   {mark}".rstrip() for m, mark in zip(methods, marks, strict=True)]
    axes.set_yticks(range(len(methods)), rows, fontsize=8 if len(methods) <= DIGITS else 7)
    small = 7.5 if len(methods) <= DIGITS else 6.5
    axes.set_xticks(range(len(methods)), [names[m] for m in methods], rotation=90, fontsize=small)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xticks(np.arange(len(methods) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(methods) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=0.8)
    axes.tick_params(which="minor", length=0)
