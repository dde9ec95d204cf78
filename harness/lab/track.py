"""A study in MLflow: an experiment of its own, a run a method, and one with the table and the figure."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from pathlib import Path

from harness.lab.report import COLUMNS
from harness.lab.study import REFERENCE, Study, ordered
from harness.tracking.names import encode
from harness.tracking.points import Point
from harness.tracking.rows import MlflowRow
from harness.tracking.store import artifact_root, client, prepare_store, reachable
from harness.tracking.sync import Synced, find, put
from harness.tracking.view import runs_page

__all__ = ["EXPERIMENT", "log"]

EXPERIMENT = "gradient lab"
TAGS = {
    "mlflow.experimentKind": "custom_model_development",
    "mlflow.experiment.primaryMetric.name": "step",
    "mlflow.experiment.primaryMetric.greaterIsBetter": "True",
}


def log(study: Study, files: Sequence[Path], uri: str) -> str:
    """Write the study, replacing what an earlier one said of the same methods; gives their place, see `where`.

    Raises HarnessError where the store cannot be reached; the files are written already.
    """
    prepare_store(uri)
    with reachable(uri):
        store = client(uri)
        experiment = store.get_experiment_by_name(EXPERIMENT)
        root = artifact_root(uri)
        place = f"{root}/gradient-lab" if root else None
        ident = (
            experiment.experiment_id
            if experiment
            else store.create_experiment(EXPERIMENT, artifact_location=place, tags=TAGS)
        )
        store.set_experiment_tag(ident, "mlflow.note.content", files[1].read_text(encoding="utf-8")[:19_000])
        done = Synced(str(ident), uri)
        known = find(store, str(ident))
        for method in reversed(ordered(study)):  # MLflow lists equal rows by age, youngest first
            row = _row(study, method)
            put(store, done, row, known.get(row.key))
        tags = {"row": "board", "trial_key": "lab"}
        board = MlflowRow("lab", "LATEST LAB", "FINISHED", tags, [], files=tuple(files))
        stale = known.get("lab")
        if stale is not None:
            store.delete_run(stale.info.run_id)
        put(store, done, board, None)
    return where(str(ident), uri)


def where(experiment: str, uri: str) -> str:
    """The page of the study's runs on a server; of a file, which has no pages until it is served, how to open it."""
    if uri.startswith("http"):
        return runs_page(experiment, uri)
    return f"experiment {EXPERIMENT!r}; `harness ui --tracking-uri {shlex.quote(uri)}` opens it"


def _row(study: Study, method: str) -> MlflowRow:
    """A method's run: the reference's measures by name, those of other settings by `name/setting`."""
    values = study.values[method]
    points = [Point(name, values[REFERENCE.label][name], 0) for name in COLUMNS]
    for setting in study.settings:
        if setting != REFERENCE:
            points += [Point(encode(f"{n}/{setting.label}"), values[setting.label][n], 0) for n in COLUMNS]
    tags = {"row": "method", "trial_key": f"lab:{method}", "method": method}
    if method in study.notes:
        tags["note"] = study.notes[method]
    return MlflowRow(f"lab:{method}", method, "FINISHED", tags, [p for p in points if math.isfinite(p.value)])
