"""`harness new NAME`: start a third-party plugin project from a template."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("new")(new)


def new(
    name: Annotated[str, typer.Argument(help="The method's name, as in my-method.")],
    kind: Annotated[str, typer.Option(help="What to start from: method, wrapper, reward or task.")] = "method",
    directory: Annotated[Path | None, typer.Option("--dir", help="Where to put the folder (default: here).")] = None,
) -> None:
    """Write a complete plugin project: pyproject, module, test, README."""
    from harness.templates import new_project

    files = new_project(name, kind, directory)
    for file in files:
        print(file)
    folder = files[0].parent
    print(f"\nnext: cd {folder} && pip install -e '.[test]' && pytest")
