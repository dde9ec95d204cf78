"""`harness compare`: two methods of a suite against each other, paired by seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli import options
from harness.cli.leaderboard import OUT, PLUGIN_HELP, canonical, load_board, runs_of
from harness.errors import HarnessError, UsageError, nearest

if TYPE_CHECKING:
    from harness.leaderboard import Board
    from harness.tasks.base import Problem

__all__ = ["compare", "register"]

FORMATS = ("table", "markdown", "json")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(compare)


def compare(  # noqa: PLR0917 - each is an option of the command line
    first: Annotated[str, typer.Argument(metavar="A", help="A method stack, or `untrained`.")],
    second: Annotated[str, typer.Argument(metavar="B", help="The stack to compare it with, or `untrained`.")],
    suite: Annotated[str, typer.Argument(help="A suite's name or file, or the directory of its runs.")],
    metric: Annotated[str, typer.Option(help="score, auc, a measure (accuracy), a task, or task/measure.")] = "score",
    form: Annotated[str, typer.Option("--format", help="table, markdown or json.")] = "table",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    figures: Annotated[
        Path | None, typer.Option(help="Draw who solves what, problem by problem, into this folder: PNG and SVG.")
    ] = None,
    plugin: Annotated[list[Path] | None, typer.Option(help=PLUGIN_HELP)] = None,
    out: Annotated[Path, typer.Option(help="Where runs are kept.")] = OUT,
) -> None:
    """How A differs from B: the paired difference, how sure, what each cost, and the problems solved and lost."""
    if form not in FORMATS:
        raise UsageError(f"--format {form}: no such format.{nearest(form, FORMATS)}")
    from harness.leaderboard import duel_text
    from harness.leaderboard.duel import duel

    directory = runs_of(suite, out)
    one, two = (canonical(stack, directory, plugin or ()) for stack in (first, second))
    shown = load_board(directory, metric, None)
    found = duel(shown, one, two, problems=reader(directory))
    if as_json or form == "json":
        typer.echo(duel_text.as_json(found), nl=False)
    elif form == "markdown":
        typer.echo(duel_text.as_markdown(found), nl=False)
    else:
        from rich.console import Console

        Console(highlight=False).print(duel_text.as_table(found))
    if figures is not None:
        draw(shown, one, two, figures)


def draw(shown: Board, first: str, second: str, folder: Path) -> None:
    """Write discordance.png and discordance.svg. Raises UsageError where no answers are kept to draw from."""
    from harness.leaderboard.figures import NoDataError, discordance, write_figure

    try:
        figure = discordance(shown, first, second)
    except NoDataError as error:
        raise UsageError(f"--figures: {error}") from None
    options.folder("--figures", folder)
    for form in ("png", "svg"):
        typer.echo(str(write_figure(figure, folder / f"discordance.{form}")), err=True)


def reader(directory: Path) -> Callable[[str, str], Mapping[str, str] | None]:
    """(task, key) -> prompt and right answer, from the tasks of the suite: loaded when first asked for."""
    known: dict[str, dict[str, Problem]] = {}

    def problem(task: str, key: str) -> Mapping[str, str] | None:
        if task not in known:
            known[task] = problems(directory, task)
        found = known[task].get(key)
        return None if found is None else {"prompt": found.prompt, "gold": str(found.answer)}

    return problem


def problems(directory: Path, name: str) -> dict[str, Problem]:
    """Key -> problem of the split that the suite reports; {} where its task cannot be loaded here any more."""
    from harness.leaderboard.trials import read_suite
    from harness.tasks.load import load_task

    settings = read_suite(directory)
    split: Any = (settings.get("evaluation") or {}).get("split", "test")
    tasks: Sequence[Mapping[str, Any]] = settings.get("tasks") or ()
    for share in tasks:
        try:
            task = load_task(str(share.get("task")), share.get("options") or {})
            if task.name == name:
                return {problem.key: problem for problem in task.problems(split)}
        except (HarnessError, OSError, ValueError):  # a task that has gone, or data that are elsewhere
            continue
    return {}
