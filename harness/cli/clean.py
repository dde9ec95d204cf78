"""`harness clean SUITE`: remove the runs of a suite."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("clean")(clean)


def clean(
    suite: Annotated[str, typer.Argument(help="Name or path of a suite that has run.")],
    methods: Annotated[str, typer.Option(help="Only the runs of these stacks: a,b+c(x=1).")] = "",
    out: Annotated[Path | None, typer.Option(help="Where runs are kept (default ./runs).")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove a suite's runs. MLflow keeps what was written to it until the next board."""
    from harness.suites.run import clean as remove
    from harness.suites.run import clean_targets

    store = options.run_directory(suite, out)
    if methods:
        options.stacks("--methods", methods)
    targets = clean_targets(store, methods)
    for target in targets:
        print(target)
    if not targets:
        print("nothing to remove")
        return
    if not yes and not typer.confirm("Remove these?"):
        raise typer.Exit(1)
    remove(targets)
