"""Figures of a study: its axes for a few methods, and the rank of all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.lab.draw import Setting
from harness.lab.study import BATCHES, REFERENCE, STACKED, Study, ordered

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw", "draw_ranking", "named"]

BEST, WORST = 9, 2  # as many lines as a figure can name, beside the baseline
ALIKE = 0.02  # lines that never lie further apart are one to the eye
ROWS = 48  # methods below one another in the ranking
MARKERS = {"-": "o", "--": "s", "-.": "^", ":": "D"}
GREY = "#bbbbbb"


def draw(study: Study, path: Path, baseline: str) -> None:
    """Worth of a step along the four axes, silent groups, bias against noise; readable at 800 pixels."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(12, 7.4), constrained_layout=True)
    sizes = {str(s.group_size): s for s in study.settings if s == Setting(group_size=s.group_size)}
    sizes = dict(sorted(sizes.items(), key=lambda item: item[1].group_size))
    rates = {name: Setting(difficulty=name) for name in ("hard", "mixed", "even", "easy")}
    noisy = {f"{s.noise:g}": s for s in (REFERENCE, *(s for s in study.settings if s.noise))}
    stale = {f"{s.stale:g}": s for s in (REFERENCE, *(s for s in study.settings if s.stale))}
    panels = [
        (axes[0, 0], sizes, "step", "group size"),
        (axes[0, 1], rates, "step", "prompts"),
        (axes[0, 2], noisy, "step", "share of flipped verdicts"),
        (axes[1, 0], stale, "step", "distance of the sampling policy"),
        (axes[1, 1], sizes, "silent", "group size"),
    ]
    chosen = named(study, baseline)
    for place, points, measure, title in panels:
        _lines(place, study, points, chosen, measure=measure, title=title)
    _scatter(axes[1, 2], study, chosen)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    by_name = dict(zip(labels, handles, strict=True))
    figure.legend([by_name[name] for name in chosen], chosen, loc="outside lower center", ncols=4, fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_ranking(study: Study, path: Path, baseline: str) -> None:
    """All methods by what one step is worth at the reference, best first, in columns; bars are standard errors.

    Each column has a scale of its own, or a few that are far off would leave no room for the others.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    methods = [method for method in ordered(study) if not math.isnan(_worth(study, method))]
    columns = max(math.ceil(len(methods) / ROWS), 1)
    rows = math.ceil(len(methods) / columns)
    size = (4.1 * columns, 1.0 + 0.2 * rows)
    figure, axes = plt.subplots(1, columns, figsize=size, squeeze=False, constrained_layout=True)
    for number, place in enumerate(axes[0]):
        _column(place, study, methods[number * rows : (number + 1) * rows], rows, baseline)
    figure.supxlabel(
        f"cosine of one batch's direction with the true gradient; full dots: {STACKED} batches of each world, "
        f"hollow: {BATCHES}; line: {baseline}; every column has its own scale",
        fontsize=9,
    )
    figure.savefig(path, dpi=110)
    plt.close(figure)


def named(study: Study, baseline: str) -> list[str]:
    """The methods that a figure names: the baseline, the best and the worst, of lines that look alike the first."""
    found = [baseline] if baseline in study.values else []
    ranked = [method for method in ordered(study) if not math.isnan(_worth(study, method))]
    for methods, most in ((ranked, len(found) + BEST), (ranked[::-1], len(found) + BEST + WORST)):
        for method in methods:
            if len(found) < most and not any(_alike(study, method, other) for other in found):
                found.append(method)
    return found


def _worth(study: Study, method: str) -> float:
    return study.values[method][REFERENCE.label]["step"]


def _alike(study: Study, one: str, other: str) -> bool:
    steps = [[values["step"] for values in study.values[method].values()] for method in (one, other)]
    return all(abs(a - b) < ALIKE for a, b in zip(*steps, strict=True))


def _lines(
    axes: Axes, study: Study, points: Mapping[str, Setting], chosen: Sequence[str], *, measure: str, title: str
) -> None:
    """One measure along one axis; the chosen methods in colour, the others thin and grey."""
    from harness.leaderboard.colours import colours, styles

    colour, style = colours(chosen, chosen[0]), styles(chosen, chosen[0])
    for method in reversed(ordered(study)):
        ys = [study.values[method].get(s.label, {}).get(measure, math.nan) for s in points.values()]
        if method in chosen:
            axes.plot(list(points), ys, color=colour[method], ls=style[method], marker="o", ms=3, lw=1.5, label=method)
        else:
            axes.plot(list(points), ys, color=GREY, lw=0.4, alpha=0.6, zorder=0)
    axes.set_xlabel(title)
    axes.set_ylabel("cosine of a step" if measure == "step" else "share of silent groups")
    axes.grid(alpha=0.25)


def _scatter(axes: Axes, study: Study, chosen: Sequence[str]) -> None:
    """Bias against noise at the reference: what more completions would mend, and what they would not."""
    from harness.leaderboard.colours import colours, styles

    colour, style = colours(chosen, chosen[0]), styles(chosen, chosen[0])
    for method in study.values:
        at = study.values[method][REFERENCE.label]
        if math.isfinite(at["noise"]):
            marker = MARKERS[style.get(method, "-")]  # as its line in the other panels
            front = method in chosen
            shade = colour.get(method, GREY)
            axes.scatter(at["noise"], at["bias"], s=26 if front else 9, color=shade, marker=marker, zorder=2 + front)
    axes.set_xscale("log")
    axes.set_xlabel("noise of a step")
    axes.set_ylabel("bias of the direction")
    axes.grid(alpha=0.25)


def _column(axes: Axes, study: Study, methods: Sequence[str], rows: int, baseline: str) -> None:
    """Some methods below one another."""
    for row, method in enumerate(methods):
        at = study.values[method][REFERENCE.label]
        full = study.batches.get(method, STACKED) >= STACKED
        shade = "#d55e00" if method == baseline else "#333333"
        axes.errorbar(
            at["step"], row, xerr=at["step_se"], fmt="o", ms=3.5, lw=1, color=shade, mfc=shade if full else "white"
        )
    left, right = axes.get_xlim()
    if baseline in study.values and left < _worth(study, baseline) < right:
        axes.axvline(_worth(study, baseline), color="#d55e00", lw=0.7, alpha=0.6, zorder=0)
    axes.set_yticks(range(len(methods)), [method if len(method) < 30 else method[:28] + "…" for method in methods])
    axes.tick_params("y", labelsize=7.5, length=0)
    axes.tick_params("x", labelsize=8)
    axes.set_ylim(rows - 0.4, -0.6)
    axes.grid(axis="x", alpha=0.25)
