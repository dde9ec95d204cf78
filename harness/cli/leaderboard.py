"""`harness leaderboard`: the board of a suite, computed from its trials' files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options
from harness.errors import UsageError, nearest

if TYPE_CHECKING:
    from harness.leaderboard import Board

__all__ = ["leaderboard", "load_board", "register", "runs_of"]

FORMATS = ("table", "markdown", "csv", "html", "json", "latex")
CHOOSING = ("table", "markdown", "latex")  # formats whose columns can be chosen
OUT = Path("runs")
PLUGIN_HELP = "A file with methods of your own; may be repeated. Those that the runs were made with are known."
TARGET_HELP = "Score of the budget to target: 0.45, or 80% of the baseline's gain; its mean final score by default."
FIGURES_HELP = "With --export: figures as pdf or svg too, for papers; may be repeated."
WIDE = 160  # of a table that goes into a file or a pipe


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("leaderboard")(leaderboard)


def leaderboard(  # noqa: PLR0917 - each is an option of the command line
    suites: Annotated[
        list[str], typer.Argument(metavar="SUITE", help="A suite's name or file, a directory of runs, or an export.")
    ],
    metric: Annotated[str, typer.Option(help="score, auc, a measure (accuracy), a task, or task/measure.")] = "score",
    baseline: Annotated[str | None, typer.Option(help="The stack to compare with; the suite's own by default.")] = None,
    reduce: Annotated[str, typer.Option(help="What makes a seed's tasks one number: mean or iqm.")] = "mean",
    target: Annotated[str | None, typer.Option(help=TARGET_HELP)] = None,
    columns: Annotated[str | None, typer.Option(help="all, or headings with commas between.")] = None,
    form: Annotated[str, typer.Option("--format", help="table, markdown, csv, html, json or latex.")] = "table",
    merge: Annotated[bool, typer.Option(help="Make one board of several directories of the same suite.")] = False,
    export: Annotated[Path | None, typer.Option(help="Write tables, figures and raw data to this folder.")] = None,
    figures: Annotated[list[str] | None, typer.Option(help=FIGURES_HELP)] = None,
    out: Annotated[Path, typer.Option(help="Where runs are kept.")] = OUT,
    plugin: Annotated[list[Path] | None, typer.Option(help=PLUGIN_HELP)] = None,
    rebuild: Annotated[bool, typer.Option(help="Bring MLflow to what the files say.")] = False,
    tracking_uri: Annotated[str | None, typer.Option(help="MLflow store; by default the one beside the runs.")] = None,
) -> None:
    """Which method is better, by how much, and how sure one can be."""
    if form not in FORMATS:
        raise UsageError(f"--format {form}: no such format.{nearest(form, FORMATS)}")
    if columns is not None and form not in CHOOSING:
        raise UsageError(f"--columns: {form} always has all columns; they can be chosen for {', '.join(CHOOSING)}")
    if len(suites) > 1 and not merge:
        raise UsageError(f"{len(suites)} directories: --merge makes one board of them, else name one")
    if rebuild and len(suites) > 1:
        raise UsageError("--rebuild: a merged board is no directory of runs; rebuild each one for itself")
    if figures and export is None:
        raise UsageError("--figures: --export FOLDER says where to write them")
    directories = [runs_of(suite, out) for suite in suites]
    board = load_board(directories, metric, baseline, plugin or (), reduce=reduce, target=target)
    if export is not None:
        options.folder("--export", export)
    show(board, form, columns)
    if export is not None:
        from harness.leaderboard.export import export as write

        for path in write(board, export, figures or ()):
            typer.echo(str(path), err=True)
    if rebuild:
        from harness.tracking import default_uri, sync

        directory = directories[0]
        done = sync(board, directory, tracking_uri or default_uri(directory.parent))
        typer.echo(f"MLflow: {done.created} rows made, {done.updated} updated, {done.unchanged} unchanged", err=True)


def runs_of(suite: str, out: Path) -> Path:
    """The directory of a suite's runs, from its name, its file, or the directory itself."""
    given = Path(suite)
    if has_runs(given):
        return given
    if given.suffix in {".yaml", ".yml"}:
        if not given.is_file():
            raise UsageError(f"no suite file {suite}")
        return out / options.suite_name(suite)
    if not (out / suite).is_dir() or given.is_dir():
        raise UsageError(no_runs(suite, out))
    return out / suite


def has_runs(folder: Path) -> bool:
    """Whether a folder is that of a suite's runs, or an export of its board."""
    return folder.is_dir() and any((folder / name).is_file() for name in ("suite.yaml", "scores.parquet", "trials.csv"))


def no_runs(suite: str, out: Path) -> str:
    """Why there is nothing to show of what was named, and what to name or do instead."""
    from harness.resources import bundled_suites

    given = Path(suite)
    if given.is_dir():
        inside = [str(path) for path in sorted(given.iterdir()) if has_runs(path)]
        return f"{suite} holds no runs and no board" + (f"; those in it do: {', '.join(inside)}" if inside else "")
    if given.is_file():
        return f"{suite} is neither a suite's file (.yaml) nor a directory of runs"
    if given.parent != Path():
        near = [str(path) for path in given.parent.iterdir() if has_runs(path)] if given.parent.is_dir() else []
        return f"no directory {suite}.{nearest(suite, near)}".removesuffix(".")
    bundled = bundled_suites()
    if suite not in bundled:
        known = {*bundled, *(path.parent.name for path in out.glob("*/suite.yaml"))}
        return f"no runs of {suite!r} in {out}, and no suite of this name.{nearest(suite, known)}"
    kept = Path("results") / suite
    also = f"; {kept} has its reference results" if has_runs(kept) else ""
    return f"no runs of {suite!r} in {out}: harness run {suite} makes them{also}"


def load_board(
    directory: Path | Sequence[Path],
    metric: str,
    baseline: str | None,
    plugins: Sequence[Path] = (),
    *,
    reduce: str = "mean",
    target: str | None = None,
) -> Board:
    """The board; a baseline may be written in any spelling of its stack."""
    from harness.leaderboard import board

    first = directory if isinstance(directory, Path) else directory[0]
    named = baseline and canonical(baseline, first, plugins)
    return board(directory, metric=metric, baseline=named, reduce=reduce, target=target)


def canonical(stack: str, directory: Path, plugins: Sequence[Path] = ()) -> str:
    """A stack as its trials name it: as given where they do, else by the plugins at hand.

    Those are the installed ones, the given files, and what the runs were made with where it is still there.
    """
    from harness.errors import HarnessError
    from harness.leaderboard import read_trials

    if any(stack in {trial.method, trial.config.get("method")} for trial in read_trials(directory)):
        return stack
    from harness.host import build_stack, discover

    catalogue = discover([*plugins, *_files_of(directory)])  # a fault in a file that was given is the user's to hear
    try:
        return build_stack(stack, catalogue).canonical
    except HarnessError:  # unknown, or results that outlive their plugins: the board names what it has
        return stack


def _files_of(directory: Path) -> list[Path]:
    """The plugin files that the runs of a directory were made with, as far as they can still be read."""
    from harness import yaml12
    from harness.errors import HarnessError
    from harness.host import discover

    file = directory / "suite.yaml"
    try:
        files = [Path(name) for name in (yaml12.load(file)[0].get("plugins") if file.is_file() else None) or ()]
        discover(files)
    except HarnessError:
        return []
    return files


def show(board: Board, form: str, names: str | None = None) -> None:
    """Print the board in a format; `names` are the columns to show, where not all are."""
    from harness.leaderboard import formats

    if form == "table":
        print_table(board, names)
        return
    if form == "html":
        from harness.leaderboard.page import as_html

        typer.echo(as_html(board), nl=False)
        return
    if form in CHOOSING:
        from harness.leaderboard.columns import select
        from harness.leaderboard.latex import as_latex

        chosen = None if names is None else select(board, names)
        text = as_latex(board, chosen) if form == "latex" else formats.as_markdown(board, shown=chosen)
        typer.echo(text, nl=False)
        return
    writers = {"csv": formats.as_csv, "json": formats.as_json}
    typer.echo(writers[form](board), nl=False)


def print_table(board: Board, names: str | None) -> None:
    """The table at the terminal's width; wider only where the columns were asked for."""
    from rich.console import Console

    from harness.leaderboard.columns import select
    from harness.leaderboard.table import as_table, table_width

    console = Console(width=None if sys.stdout.isatty() else WIDE)
    if names is not None:
        console = Console(width=max(console.width, table_width(board, select(board, names))))
    console.print(as_table(board, names))
