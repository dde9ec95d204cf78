"""`harness compare`: two methods of a suite against each other, paired by seed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.leaderboard import OUT, PLUGIN_HELP, canonical, runs_of

if TYPE_CHECKING:
    from harness.leaderboard.duel import Duel

__all__ = ["compare", "register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(compare)


def compare(  # noqa: PLR0917 - each is an option of the command line
    first: Annotated[str, typer.Argument(metavar="A", help="A method stack.")],
    second: Annotated[str, typer.Argument(metavar="B", help="The stack to compare it with.")],
    suite: Annotated[str, typer.Argument(help="A suite's name or file, or the directory of its runs.")],
    metric: Annotated[str, typer.Option(help="score, auc, a measure (accuracy), a task, or task/measure.")] = "score",
    plugin: Annotated[list[Path] | None, typer.Option(help=PLUGIN_HELP)] = None,
    out: Annotated[Path, typer.Option(help="Where runs are kept.")] = OUT,
) -> None:
    """How A differs from B: the paired difference, how sure, and what each cost."""
    from harness.leaderboard.duel import duel

    directory = runs_of(suite, out)
    one, two = (canonical(stack, directory, plugin or ()) for stack in (first, second))
    show(duel(directory, one, two, metric=metric))


def show(found: Duel) -> None:
    """Print it in one screen."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(found.sentence, style="bold")
    table = Table("", *found.names, f"{found.names[0]} - {found.names[1]}", pad_edge=False)
    for label, one, two, difference in found.lines:
        table.add_row(label, one, two, difference)
    console.print(table)
    for note in found.notes:
        console.print(note, style="dim")
