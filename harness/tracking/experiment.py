"""An experiment a suite and rules version: its tags send MLflow's pages to the right view, its note shows the board."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.leaderboard import Board
from harness.leaderboard.formats import as_markdown
from harness.tracking.store import artifact_root, client, reachable
from harness.tracking.view import VIEW_TAG, deep_link, run_link, saved_view

if TYPE_CHECKING:
    from mlflow import MlflowClient

__all__ = ["boards", "ensure_experiment", "experiment_name", "write_note"]

LONGEST_NOTE = 19_000  # MLflow refuses experiment tags beyond 20,000 characters
TOP = 20
MARK = "rules"  # a tag that every board's experiment has
TAGS = {
    "mlflow.experimentKind": "custom_model_development",  # else MLflow may guess GenAI and open on traces
    "mlflow.experiment.primaryMetric.name": "score",
    "mlflow.experiment.primaryMetric.greaterIsBetter": "True",
}


def experiment_name(suite: str, rules: int) -> str:
    """Rows of different rules never mix: they are different experiments."""
    return f"{suite} (rules {rules})"


def boards(uri: str) -> dict[str, str]:
    """Experiments that hold a board, newest first: name -> id. Raises HarnessError for a store out of reach."""
    with reachable(uri):
        found = client(uri).search_experiments(filter_string=f"tags.`{MARK}` != ''", max_results=1000)
    return {experiment.name: str(experiment.experiment_id) for experiment in found}


def ensure_experiment(store: MlflowClient, uri: str, suite: str, rules: int) -> str:
    """The experiment's id; made, or brought back from the bin, with its tags."""
    name = experiment_name(suite, rules)
    found = store.get_experiment_by_name(name)
    tags = {**TAGS, VIEW_TAG: saved_view(), "suite": suite, "rules": str(rules)}
    if found is None:
        root = artifact_root(uri)
        place = f"{root}/{suite}-rules-{rules}" if root else None
        return str(store.create_experiment(name, artifact_location=place, tags=tags))
    if found.lifecycle_stage == "deleted":
        store.restore_experiment(found.experiment_id)
    for key, value in tags.items():
        if found.tags.get(key) != value:
            store.set_experiment_tag(found.experiment_id, key, value)
    return str(found.experiment_id)


def write_note(store: MlflowClient, experiment_id: str, board: Board, runs: dict[str, str]) -> None:
    """The board as the experiment's description, with links; shortened by rows until MLflow takes it."""
    links = [f"[Table of the methods]({deep_link(experiment_id)})"]
    if "board" in runs:
        links.append(f"[the board's files]({run_link(experiment_id, runs['board'])})")
    for top in range(min(TOP, len(board.rows)), 0, -1):
        note = as_markdown(board, top=top) + "\n" + " | ".join(links) + "\n"
        if len(note) <= LONGEST_NOTE:
            break
    store.set_experiment_tag(experiment_id, "mlflow.note.content", note[:LONGEST_NOTE])
