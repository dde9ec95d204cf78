"""Bringing MLflow to what the files say: new rows are added, known ones found by their tag `trial_key` and reused."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from harness.leaderboard import Board, Trial
from harness.leaderboard.colours import colours
from harness.leaderboard.export import export
from harness.tracking.experiment import ensure_experiment, write_note
from harness.tracking.rows import MlflowRow, method_row, seed_row
from harness.tracking.store import client, exclusively, prepare_store, reachable
from harness.tracking.view import deep_link

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

__all__ = ["Synced", "sync", "sync_trials"]

RUNNING = "RUNNING"
BATCH = 1000  # entries that a request may hold
ROOM = 800  # metrics of a row's last request, which also holds its tags and params


@dataclass
class Synced:
    """What a synchronisation did, and where to look."""

    experiment_id: str
    uri: str
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    runs: dict[str, str] = field(default_factory=dict, repr=False)  # trial_key -> run id

    @property
    def link(self) -> str:
        """The board in MLflow's pages, complete where the store is a server."""
        return deep_link(self.experiment_id, self.uri if self.uri.startswith("http") else "")


def sync(board: Board, directory: Path, uri: str, *, live: bool = False) -> Synced:
    """Make the experiment of a board show it: seed rows, method rows, the board's files and its note.

    Raises HarnessError where the store cannot be reached; the files are untouched, and another call catches up.
    """
    trials = [board.matrix.trials[key] for key in sorted(board.matrix.trials)]
    prepare_store(uri)
    with reachable(uri), exclusively(directory / "tracking"):
        store = client(uri)
        done = Synced(ensure_experiment(store, uri, board.suite, board.rules), uri)
        known = find(store, done.experiment_id)
        colour = colours(board.matrix.methods)
        rows = [seed_row(trial, live=live) for trial in trials]
        methods = [method_row(board, row, i, colour.get(row.method, "#777777")) for i, row in enumerate(board.rows, 1)]
        for row in [*rows, *reversed(methods)]:  # MLflow lists equal rows by age, youngest first
            put(store, done, row, known.pop(row.key, None))
        write_board(store, done, board, known.pop("board", None))
        for key, stale in known.items():
            if key.startswith("method:"):  # a row that the board no longer has
                store.delete_run(stale.info.run_id)
                done.deleted += 1
        write_note(store, done.experiment_id, board, done.runs)
    return done


def sync_trials(trials: Sequence[Trial], uri: str, *, live: bool = True) -> Synced:
    """Add the trials of one suite as seed rows, while the rest of the suite still runs."""
    config = trials[0].config
    with reachable(uri):
        store = client(uri)
        experiment = ensure_experiment(store, uri, str(config.get("suite")), int(config.get("rules", 1)))
        done = Synced(experiment, uri)
        known = find(store, experiment)
        for trial in trials:
            put(store, done, row := seed_row(trial, live=live), known.get(row.key))
    return done


def find(store: MlflowClient, experiment_id: str) -> dict[str, Run]:
    """The experiment's runs by trial_key; of several with one key the first stays, the others are deleted."""
    found: dict[str, Run] = {}
    token = None
    while True:
        page = store.search_runs(
            [experiment_id], max_results=1000, order_by=["attributes.start_time ASC"], page_token=token
        )
        for run in page:
            key = run.data.tags.get("trial_key")
            if key in found:
                store.delete_run(run.info.run_id)
            elif key:
                found[key] = run
        token = page.token
        if not token:
            return found


def put(store: MlflowClient, done: Synced, row: MlflowRow, known: Run | None) -> str:
    """Write a row unless MLflow holds just that; a growing trial keeps its run, a changed result gets a new one.

    A run is RUNNING until all of its row is there, so one that a dying server left half-written is written again.
    """
    tags = {**row.tags, "content": row.content}
    if (
        known is not None
        and known.data.tags.get("content") == row.content
        and known.info.status == row.status != RUNNING
    ):
        done.unchanged += 1
        done.runs[row.key] = known.info.run_id
        return str(known.info.run_id)
    if known is not None and known.info.status not in {RUNNING, "KILLED"}:
        store.delete_run(known.info.run_id)  # metrics are append-only: old numbers would stay beside the new ones
        done.deleted += 1
        known = None
    if known is None:
        run = store.create_run(done.experiment_id, start_time=now(), tags=tags, run_name=row.name)
        done.created += 1
        write(store, run, row, params=row.params)
    else:
        run = known
        done.updated += 1
        write(store, run, row, tags=tags)
    done.runs[row.key] = run.info.run_id
    return str(run.info.run_id)


def now() -> int:
    """Milliseconds since 1970."""
    return int(time.time() * 1000)


def write(
    store: MlflowClient,
    run: Run,
    row: MlflowRow,
    *,
    params: Mapping[str, str] = MappingProxyType({}),
    tags: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Files, metrics, params (write-once: only a new run gets them) or tags, and at the very end the status.

    Timestamps follow from the run's start and the step, so sending a point again changes nothing.
    """
    from mlflow.entities import Metric, Param, RunTag

    run_id, start = run.info.run_id, run.info.start_time
    for path in row.files:
        store.log_artifact(run_id, str(path))
    metrics = [Metric(point.key, point.value, start + point.step, point.step) for point in row.points]
    while len(metrics) > ROOM:
        store.log_batch(run_id, metrics=metrics[:BATCH])
        metrics = metrics[BATCH:]
    store.log_batch(
        run_id,
        metrics=metrics,
        params=[Param(key, value) for key, value in params.items()],
        tags=[RunTag(key, value) for key, value in tags.items()],
    )
    if row.status != RUNNING:
        store.set_terminated(run_id, row.status)


def write_board(store: MlflowClient, done: Synced, board: Board, known: Run | None) -> None:
    """The run that holds the board's files; made anew when the board has changed."""
    import tempfile

    from harness.leaderboard.formats import as_json

    row = MlflowRow("board", "LATEST BOARD", "FINISHED", {
        "row": "board", "trial_key": "board", "suite": board.suite, "rules": str(board.rules),
        "metric": board.metric.name, "baseline": board.baseline, "mlflow.runColor": "#d55e00",
        "board": hash_of(as_json(board)),
    }, [])  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        if known is None or known.data.tags.get("content") != row.content:
            row = replace(row, files=tuple(export(board, Path(folder))))
        put(store, done, row, known)


def hash_of(text: str) -> str:
    """A digest."""
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:32]
