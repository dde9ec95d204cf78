"""A study as a table, a figure and files."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from harness.lab.draw import Setting
from harness.lab.study import REFERENCE, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COLUMNS", "LEGEND", "draw", "ordered", "table", "write"]

COLUMNS = {
    "step": "cosine of one batch's direction with the true gradient: what a step is worth",
    "bias": "part of the mean direction that is not the true gradient's (0: unbiased in direction)",
    "noise": "variance of a batch's direction over the squared mean direction",
    "sign_errors": "completions pushed the wrong way, of those that are pushed",
    "silent": "groups that push nothing",
}
LEGEND = "Direction only: scale is the optimizer's. Mean of a softmax bandit and a three-token language."
NAMED = 12  # as many lines as a figure can name
MARKERS = {"-": "o", "--": "s", "-.": "^", ":": "D"}
SHOWN = {"step": ".3f", "bias": ".3f", "noise": ".2f", "sign_errors": ".3f", "silent": ".3f"}


def ordered(study: Study) -> list[str]:
    """Methods by what one step is worth at the reference, best first."""
    return sorted(study.values, key=lambda method: -study.values[method][REFERENCE.label]["step"])


def table(study: Study) -> str:
    """Markdown: the reference setting's measures, then `step` in every other setting."""
    others = [setting for setting in study.settings if setting != REFERENCE]
    heads = ["method", *COLUMNS, *(f"step, {setting.label}" for setting in others)]
    heads = [head.replace(f"{REFERENCE.label}, ", "") for head in heads]
    lines = [" | ".join(heads), " | ".join(["---"] * len(heads))]
    for method in ordered(study):
        values = study.values[method]
        cells = [_cell(values[REFERENCE.label][name], SHOWN[name]) for name in COLUMNS]
        cells += [_cell(values[setting.label]["step"], ".3f") for setting in others]
        lines.append(" | ".join([f"`{method}`" + (" *" if method in study.notes else ""), *cells]))
    text = "\n".join(f"| {line} |" for line in lines)
    notes = [f"- {name}: {meaning}." for name, meaning in COLUMNS.items()]
    notes += [f"- \\* `{method}`: {note}." for method, note in study.notes.items()]
    notes += [f"- left out: {reason}." for reason in study.left_out.values()]
    return f"{LEGEND}\n\n{text}\n\n" + "\n".join(notes) + "\n"


def draw(study: Study, path: Path, baseline: str) -> None:
    """The figure: worth of a step along the four axes, bias against noise, silent groups; readable at 800 pixels."""
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
    for place, points, measure, title in panels:
        _lines(place, study, points, measure=measure, title=title, baseline=baseline)
    _scatter(axes[1, 2], study, baseline)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _lines(axes: Axes, study: Study, points: Mapping[str, Setting], *, measure: str, title: str, baseline: str) -> None:
    """One measure along one axis; the named methods in colour, the others thin and grey."""
    from harness.leaderboard.colours import colours, styles

    named = _named(study, baseline)
    colour, style = colours(named, baseline), styles(named, baseline)
    for method in reversed(ordered(study)):
        ys = [study.values[method].get(s.label, {}).get(measure, math.nan) for s in points.values()]
        if method in named:
            axes.plot(list(points), ys, color=colour[method], ls=style[method], marker="o", ms=3, lw=1.5, label=method)
        else:
            axes.plot(list(points), ys, color="#bbbbbb", lw=0.6, zorder=0)
    axes.set_xlabel(title)
    axes.set_ylabel("cosine of a step" if measure == "step" else "share of silent groups")
    axes.grid(alpha=0.25)


def _scatter(axes: Axes, study: Study, baseline: str) -> None:
    """Bias against noise at the reference: what more completions would mend, and what they would not."""
    from harness.leaderboard.colours import colours, styles

    named = _named(study, baseline)
    colour, style = colours(named, baseline), styles(named, baseline)
    for method in study.values:
        at = study.values[method][REFERENCE.label]
        if math.isfinite(at["noise"]):
            marker = MARKERS[style.get(method, "-")]  # as its line in the other panels
            shade = colour.get(method, "#bbbbbb")
            axes.scatter(at["noise"], at["bias"], s=24, color=shade, marker=marker, zorder=2 + (method in named))
    axes.set_xscale("log")
    axes.set_xlabel("noise of a step")
    axes.set_ylabel("bias of the direction")
    axes.grid(alpha=0.25)


def _named(study: Study, baseline: str) -> list[str]:
    """The methods that the figure names: the baseline, then the best."""
    best = [method for method in ordered(study) if method != baseline]
    return [*([baseline] if baseline in study.values else []), *best[: NAMED - 1]]


def write(study: Study, folder: Path, baseline: str) -> list[Path]:
    """lab.json, lab.md and lab.png in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / "lab.json", folder / "lab.md", folder / "lab.png"]
    data = json.loads(json.dumps(study.to_data()), parse_constant=lambda _: None)  # NaN and infinity are no JSON
    paths[0].write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    paths[1].write_text(table(study), encoding="utf-8")
    draw(study, paths[2], baseline)
    return paths


def _cell(value: float, shown: str) -> str:
    return "-" if math.isnan(value) else "inf" if math.isinf(value) else format(value, shown)
