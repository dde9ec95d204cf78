"""A study as a table and files."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from pathlib import Path

from harness.lab.study import BATCHES, MEASURES, REFERENCE, STACKED, Study, ordered

__all__ = ["COLUMNS", "LEGEND", "table", "write"]

COLUMNS = {
    "step": "cosine of one batch's direction with the true gradient: what a step is worth",
    "bias": "part of the mean direction that is not the true gradient's (0: unbiased in direction)",
    "noise": "variance of a batch's direction over the squared mean direction",
    "sign_errors": "completions pushed the wrong way, of those that are pushed",
    "silent": "groups that push nothing",
}
ERRORS = (
    f"± is the standard error over {STACKED} batches of each world, over {BATCHES} of them where methods look beyond "
    "the group (`batches` in `lab.csv`); in other settings over half as many. All see the same batches, so that "
    "differences are surer than that."
)
LEGEND = "Direction only: scale is the optimizer's. Mean of a softmax bandit and a three-token language."
SHOWN = {"step": ".3f", "bias": ".3f", "noise": ".2f", "sign_errors": ".3f", "silent": ".3f"}


def table(study: Study) -> str:
    """Markdown: the reference setting's measures, then `step` in every other setting."""
    others = [setting for setting in study.settings if setting != REFERENCE]
    heads = ["method", *COLUMNS, *(f"step, {setting.label}" for setting in others)]
    heads = [head.replace(f"{REFERENCE.label}, ", "") for head in heads]
    lines = [" | ".join(heads), " | ".join(["---"] * len(heads))]
    for method in ordered(study):
        values = study.values[method]
        cells = [_with_error(values[REFERENCE.label], name) for name in COLUMNS]
        cells += [_cell(values[setting.label]["step"], ".3f") for setting in others]
        lines.append(" | ".join([f"`{method}`" + (" *" if method in study.notes else ""), *cells]))
    text = "\n".join(f"| {line} |" for line in lines)
    notes = [f"- {ERRORS}"]
    notes += [f"- {name}: {meaning}." for name, meaning in COLUMNS.items()]
    notes += [f"- \\* `{method}`: {note}." for method, note in study.notes.items()]
    notes += [f"- left out: {reason}." for reason in study.left_out.values()]
    return f"{LEGEND}\n\n{text}\n\n" + "\n".join(notes) + "\n"


def write(study: Study, folder: Path, baseline: str) -> list[Path]:
    """lab.json, lab.md, lab.csv, lab.png and ranking.png in a folder."""
    from harness.lab.figures import draw, draw_ranking

    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in ("lab.json", "lab.md", "lab.csv", "lab.png", "ranking.png")]
    data = json.loads(json.dumps(study.to_data()), parse_constant=lambda _: None)  # NaN and infinity are no JSON
    paths[0].write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    paths[1].write_text(table(study), encoding="utf-8")
    _write_rows(study, paths[2])
    draw(study, paths[3], baseline)
    draw_ranking(study, paths[4], baseline)
    return paths


def _write_rows(study: Study, path: Path) -> None:
    """A row for every method and setting, best step at the reference first; empty cells for what is not a number."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["method", "setting", *MEASURES, "batches", "note"])
        for method in ordered(study):
            for setting, values in study.values[method].items():
                cells = ["" if math.isnan(values[name]) else f"{values[name]:.5g}" for name in MEASURES]
                rows.writerow([method, setting, *cells, study.batches.get(method, ""), study.notes.get(method, "")])


def _with_error(values: Mapping[str, float], name: str) -> str:
    """A value, and its standard error where there is one."""
    error = values.get(f"{name}_se", math.nan)
    shown = _cell(values[name], SHOWN[name])
    return shown if math.isnan(error) or math.isnan(values[name]) else f"{shown} ± {error:.3f}"


def _cell(value: float, shown: str) -> str:
    return "-" if math.isnan(value) else "inf" if math.isinf(value) else format(value, shown)
