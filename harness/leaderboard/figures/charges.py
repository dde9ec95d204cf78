"""What the budget went to: the ledger's categories of every method, stacked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from harness.leaderboard.costs import charges, counts, mean
from harness.leaderboard.figures.canvas import (
    GRID,
    NoDataError,
    belongs,
    figure_function,
    new_figure,
    seeds_text,
    tip,
    titled,
)
from harness.leaderboard.figures.names import shown_names
from harness.leaderboard.model import Board
from harness.leaderboard.trials import Trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["cost_breakdown", "spending"]

DROPPED = "generate, dropped"
# category -> colour and hatch; light and dark alternate, so that neighbours differ in print without colour
KNOWN = {
    "prompt": ("#dddddd", ""), "generate": ("#3d9fd9", ""), DROPPED: ("#ffffff", "xxxx"), "train": ("#332288", ""),
    "old": ("#e69f00", ""), "reference": ("#8fce9b", "//"), "greedy": ("#f3d9a0", "...."), "policy": ("#aa4499", ""),
}  # fmt: skip
OTHERS = (("#c9e3c0", "////"), ("#661100", ""), ("#d9c7ef", "\\\\\\\\"), ("#b8a24a", ""), ("#f5b7a0", "++++"))
EDGE = "#444444"
SAID = {"old": "old log-probs", "greedy": "greedy answers", "policy": "other policy passes"}


@figure_function
def cost_breakdown(board: Board) -> Figure:
    """A bar a method: mean charges of its ended trials, category by category."""
    rows = [row.method for row in board.rows if row.method in board.matrix.methods]
    found = {method: spending([t for t in board.matrix.of(method) if t.ended]) for method in rows}
    found = {method: parts for method, parts in found.items() if parts}
    if not found:
        raise NoDataError("no trial has a ledger")
    names = shown_names(found)
    present = {name for parts in found.values() for name, amount in parts.items() if amount}
    order = [name for name in KNOWN if name in present] + sorted(present - set(KNOWN))
    dress = KNOWN | dict(zip(sorted(present - set(KNOWN)), OTHERS * len(present), strict=False))
    figure = new_figure(0.9 + 0.22 * len(found))
    axes = figure.subplots()
    methods = list(found)
    heights, left = np.arange(len(found))[::-1], np.zeros(len(found))
    for name in order:
        widths = np.array([parts.get(name, 0.0) for parts in found.values()])
        colour, hatch = dress[name]
        there = np.flatnonzero(widths)
        bars = axes.barh(heights[there], widths[there], 0.74, left[there], color=colour, hatch=hatch, edgecolor=EDGE,
                         linewidth=0.4, label=SAID.get(name, name))  # fmt: skip
        for bar, i in zip(bars, there, strict=True):
            method, share = methods[i], widths[i] / sum(found[methods[i]].values())
            belongs(bar, method)
            text = f"{method}: {SAID.get(name, name)} {widths[i]:,.0f}, {share:.0%} of it all"
            tip(axes, left[i] + widths[i] / 2, heights[i], text, method)
        left = left + widths
    limit = board.budget.get("compute")
    if limit:
        axes.axvline(limit, color="black", linestyle="--", linewidth=1, label="the budget")
    axes.set_yticks(heights, [names[method] for method in found])
    axes.set_ylim(-0.6, len(found) - 0.4)
    axes.tick_params(axis="y", length=0)
    finish(figure)
    titled(
        figure,
        f"{board.suite}: what the budget went to, {seeds_text(board)}",
        "Mean over ended trials; a token's forward pass through the policy is 1, training on it 3. Dropped: sampled "
        "tokens that were thrown away. Rows in the board's order.",
    )
    return figure


def finish(figure: Figure) -> None:
    """The axis in short numbers, and the legend below."""
    from matplotlib.ticker import EngFormatter

    axes = figure.axes[0]
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.set_xlabel("charged, in forward passes of a token")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6), frameon=False, fontsize=8)


def spending(trials: Sequence[Trial]) -> dict[str, float]:
    """Category -> mean charge over the trials with a ledger; what was sampled and dropped stands apart."""
    split = [with_dropped(trial) for trial in trials if charges(trial.ledger)]
    names = {name for parts in split for name in parts}
    return {name: mean(parts.get(name, 0.0) for parts in split) for name in sorted(names)}


def with_dropped(trial: Trial) -> dict[str, float]:
    """A trial's charges, those for generating split by what was kept."""
    parts, count = charges(trial.ledger), counts(trial.ledger)
    generated, dropped = count.get("tokens_generated", 0.0), count.get("tokens_discarded", 0.0)
    if generated and dropped and "generate" in parts:
        lost = parts["generate"] * dropped / generated
        parts |= {"generate": parts["generate"] - lost, DROPPED: lost}
    return parts
