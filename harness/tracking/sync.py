"""Bringing MLflow to what the files say: the rows of a suite, its board's files, its view and its note."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.leaderboard import Board, Trial
from harness.leaderboard.colours import looks
from harness.leaderboard.export import export
from harness.leaderboard.formats import as_json
from harness.leaderboard.page import as_html
from harness.tracking.experiment import NOTE, ensure_experiment, write_note
from harness.tracking.memory import Steady
from harness.tracking.owner import owner_of
from harness.tracking.rows import MlflowRow, method_key, method_row, seed_row
from harness.tracking.samples import FILE
from harness.tracking.store import client, exclusively, prepare_store, reachable
from harness.tracking.view import PAGE, curves_link, run_link
from harness.tracking.writer import Synced, find, put

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

__all__ = ["Synced", "sync", "sync_trials"]

SERVED = "http://127.0.0.1:5000"  # where `harness ui` shows a local store, unless another port is asked for


def sync(board: Board, directory: Path, uri: str, *, live: bool = False) -> Synced:
    """Make the experiment of a board show it: seed rows, method rows, the board's files, its view and its note.

    Raises HarnessError where the store cannot be reached; the files are untouched, and another call catches up.
    """
    trials = [board.matrix.trials[key] for key in sorted(board.matrix.trials)]
    prepare_store(uri)
    with reachable(uri), exclusively(directory / "tracking"), Steady() as steady:
        store = client(uri)
        done = Synced(ensure_experiment(store, uri, board.suite, board.rules, owner_of(directory)), uri)
        known = find(store, done.experiment_id)
        colour = {method: look.colour for method, look in looks(board.matrix.methods, board.baseline).items()}
        for trial in trials:  # one at a time: all points of a large suite would fill the memory
            row = seed_row(trial, live=live, colour=colour[trial.method])
            put(store, done, row, known.pop(row.key, None))
            steady.sweep()
        for place, row_ in reversed(list(enumerate(board.rows, 1))):  # MLflow lists equal rows by age, youngest first
            row = method_row(board, row_, place, colour[row_.method])
            row.tags[NOTE] = of_method(board, row, done)
            put(store, done, row, known.pop(row.key, None))
        write_board(store, done, board, known.pop("board", None))
        for key, stale in known.items():
            if key.startswith("method:"):  # a row that the board no longer has
                store.delete_run(stale.info.run_id)
                done.deleted += 1
        write_note(store, done.experiment_id, board, done.runs)
    return done


def sync_trials(trials: Sequence[Trial], directory: Path, uri: str, *, live: bool = True) -> Synced:
    """Add trials of a suite as seed rows, while the rest of the suite, whose runs are in `directory`, still runs."""
    config = trials[0].config
    with reachable(uri), exclusively(directory / "tracking"):
        store = client(uri)
        suite, rules = str(config.get("suite")), int(config.get("rules", 1))
        done = Synced(ensure_experiment(store, uri, suite, rules, owner_of(directory)), uri)
        known = find(store, done.experiment_id, [trial.key for trial in trials])
        for trial in trials:
            put(store, done, row := seed_row(trial, live=live), known.get(row.key))
    return done


def write_board(store: MlflowClient, done: Synced, board: Board, known: Run | None) -> None:
    """The run that holds the board's files; made anew when the board, or a run that its page links to, has changed."""
    server = done.uri if done.uri.startswith("http") else SERVED
    links = {
        row.method: run_link(done.experiment_id, done.runs[key], server)
        for row in board.rows
        if (key := method_key(row)) in done.runs
    }
    row = MlflowRow("board", "LATEST BOARD", "FINISHED", {
        "row": "board", "trial_key": "board", "suite": board.suite, "rules": str(board.rules),
        "metric": board.metric.name, "baseline": board.baseline,
        "board": hash_of(as_json(board) + str(links)), NOTE: about(board),
    }, [], colour="#d55e00")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        if known is None or known.data.tags.get("content") != row.content:
            files = export(board, Path(folder))
            page = as_html(board, [file for file in files if file.suffix == ".png"], links)
            (Path(folder) / PAGE).write_text(page, encoding="utf-8")
            row = replace(row, files=tuple(files))
        put(store, done, row, known)


def of_method(board: Board, row: MlflowRow, done: Synced) -> str:
    """A method's description: its difference, its seeds and what it wrote, as links."""
    method, experiment = row.name, done.experiment_id
    seeds = [(trial.seed, done.runs[trial.key]) for trial in board.matrix.of(method)]
    lines = [f"Difference to {board.baseline}: {row.tags['difference']}"]
    if seeds:
        listed = ", ".join(f"[{seed}]({run_link(experiment, run)})" for seed, run in seeds)
        lines.append(f"Seeds: {listed}; [their curves over the budget]({curves_link(experiment, method=method)})")
    if row.table:
        lines.append(f"What it writes: `{FILE}` among the artifacts")
    return "\n\n".join(lines)


def about(board: Board) -> str:
    """What the board's run says of itself."""
    return f"The board of {board.suite}: `{PAGE}` is the page to read, the other files are its figures and raw data."


def hash_of(text: str) -> str:
    """A digest."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
