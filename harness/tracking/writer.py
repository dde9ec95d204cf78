"""Writing rows to MLflow: known runs are found by their tag `trial_key` and reused where nothing has changed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from harness.tracking.rows import MlflowRow
from harness.tracking.samples import FILE
from harness.tracking.view import deep_link

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

__all__ = ["Synced", "find", "put"]

RUNNING = "RUNNING"
COLOUR = "mlflow.runColor"
BATCH = 1000  # entries that a request may hold


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


def find(store: MlflowClient, experiment_id: str, keys: Sequence[str] = ()) -> dict[str, Run]:
    """The experiment's runs by trial_key, all or those of `keys`; of several with one the first stays, others go."""
    safe = bool(keys) and not any("'" in key for key in keys)
    found: dict[str, Run] = {}
    for condition in [f"tags.trial_key = '{key}'" for key in keys] if safe else [""]:
        for run in runs_where(store, experiment_id, condition):
            key = run.data.tags.get("trial_key")
            if key in found:
                store.delete_run(run.info.run_id)
            elif key:
                found[key] = run
    return found


def runs_where(store: MlflowClient, experiment_id: str, condition: str) -> Iterator[Run]:
    """The runs that meet a condition, oldest first, page by page."""
    token = None
    while True:
        page = store.search_runs(
            [experiment_id], condition, max_results=1000, order_by=["attributes.start_time ASC"], page_token=token
        )
        yield from page
        token = page.token
        if not token:
            return


def put(store: MlflowClient, done: Synced, row: MlflowRow, known: Run | None) -> str:
    """Write a row unless MLflow holds just that; a growing trial keeps its run, a changed result gets a new one.

    A run is RUNNING until all of its row is there, so one that a dying server left half-written is written again.
    """
    content = row.content
    if known is not None and known.data.tags.get("content") == content and known.info.status == row.status != RUNNING:
        done.unchanged += 1
        done.runs[row.key] = known.info.run_id
        if row.colour and known.data.tags.get(COLOUR) != row.colour:
            store.set_tag(known.info.run_id, COLOUR, row.colour)
        return str(known.info.run_id)
    if known is not None and not (row.grows and known.info.status in {RUNNING, "KILLED"}):
        store.delete_run(known.info.run_id)  # metrics are append-only: old numbers would stay beside the new ones
        done.deleted += 1
        known = None
    tags = {**row.tags, "content": content, **({COLOUR: row.colour} if row.colour else {})}
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
    for name, document in row.documents.items():
        store.log_dict(run_id, document, name)
    if row.table:
        store.log_table(run_id, row.table, FILE)
    metrics = [Metric(point.key, point.value, start + point.step, point.step) for point in row.points]
    room = BATCH - len(params) - len(tags)  # of the request that also holds these
    for place in range(room, len(metrics), BATCH):
        store.log_batch(run_id, metrics=metrics[place : place + BATCH])
    store.log_batch(
        run_id,
        metrics=metrics[:room],
        params=[Param(key, value) for key, value in params.items()],
        tags=[RunTag(key, value) for key, value in tags.items()],
    )
    if row.status != RUNNING:
        store.set_terminated(run_id, row.status)
