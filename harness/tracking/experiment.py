"""An experiment a suite and rules version: its tags send MLflow's pages to the right view, its note shows the board."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.leaderboard import Board
from harness.leaderboard.columns import columns, title
from harness.leaderboard.formats import as_markdown
from harness.tracking.names import encode
from harness.tracking.rows import method_key
from harness.tracking.store import artifact_root, client, reachable
from harness.tracking.view import PAGE, VIEW_TAG, curves_link, deep_link, run_link, saved_view

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment

__all__ = ["NOTE", "boards", "ensure_experiment", "experiment_name", "write_note"]

LONGEST_NOTE = 19_000  # MLflow refuses experiment tags beyond 20,000 characters
TOP = 20
NARROW = ("method", "n", "difference", "verdict", "p", "waste", "time")  # a note has little room for columns
MARK = "rules"  # a tag that every board's experiment has
OWNER = "runs"  # the tag that says which folder of runs an experiment shows
NOTE = "mlflow.note.content"
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


def ensure_experiment(store: MlflowClient, uri: str, suite: str, rules: int, owner: str) -> str:
    """The experiment's id; made, or brought back from the bin, with its tags.

    One that shows the runs of another folder is left alone: a server's second user of a suite gets one of their own.
    """
    tags = {**TAGS, VIEW_TAG: saved_view(), "suite": suite, "rules": str(rules), OWNER: owner}
    name = experiment_name(suite, rules)
    for wanted in (name, f"{name[:-1]}, runs {owner})"):
        found = store.get_experiment_by_name(wanted) or create(store, uri, wanted, tags)
        if found.tags.get(OWNER, owner) == owner:
            break
    if found.lifecycle_stage == "deleted":
        store.restore_experiment(found.experiment_id)
    for key, value in tags.items():
        if found.tags.get(key) != value:
            store.set_experiment_tag(found.experiment_id, key, value)
    return str(found.experiment_id)


def create(store: MlflowClient, uri: str, name: str, tags: dict[str, str]) -> Experiment:
    """A new experiment, or the one that somebody else has made under this name a moment ago."""
    from mlflow.exceptions import MlflowException

    root = artifact_root(uri)
    place = f"{root}/{encode(name)}" if root else None
    try:
        return store.get_experiment(store.create_experiment(name, artifact_location=place, tags=tags))
    except MlflowException:
        found = store.get_experiment_by_name(name)
        if found is None:
            raise
        return found


def write_note(store: MlflowClient, experiment_id: str, board: Board, runs: dict[str, str]) -> None:
    """The board as the experiment's description, with links; shortened by rows until MLflow takes it."""
    links = [f"**[Table of the methods]({deep_link(experiment_id)})**"]
    if "board" in runs:
        page = run_link(experiment_id, runs["board"], artifact=PAGE)
        links.append(f"**[Leaderboard, figures and raw data]({page})**")
    links.append(f"**[Curves of all seeds]({curves_link(experiment_id)})**")
    found = {row.method: run_link(experiment_id, runs[key]) for row in board.rows if (key := method_key(row)) in runs}
    shown = [column for column in columns(board) if column.title in {*NARROW, title(board)}]
    note = ""
    for top in range(min(TOP, len(board.rows)), 0, -1):
        head, rest = with_links(as_markdown(board, top=top, shown=shown), found).split("\n", 1)
        note = f"{head}\n\n{' | '.join(links)}\n{rest}"
        if len(note) <= LONGEST_NOTE:
            break
    note = note[:LONGEST_NOTE]
    if store.get_experiment(experiment_id).tags.get(NOTE) != note:
        store.set_experiment_tag(experiment_id, NOTE, note)


def with_links(markdown: str, links: dict[str, str]) -> str:
    """The table with every method's name, the first text of its line, as a link to its run."""
    lines = markdown.splitlines()
    for place, line in enumerate(lines):
        cells = line.split(" | ", 2)
        if line.startswith("| ") and len(cells) == 3:
            method, mark, rest = cells[1].partition(" (")
            name = method if method in links else cells[1]
            if name in links:
                lines[place] = f"{cells[0]} | [{name}]({links[name]}){mark}{rest if mark else ''} | {cells[2]}"
    return "\n".join(lines) + "\n"
