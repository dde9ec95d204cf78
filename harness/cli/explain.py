"""`harness explain STACK`: the chain per hook, as it will run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain)


def explain(
    stack: Annotated[str, typer.Argument(help="A method stack, such as 'dapo+f-grpo(gamma=2)'.")],
    plugin: Annotated[list[Path] | None, typer.Option(help="A file with methods of your own; may be repeated.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show the chain of every hook as it will run, what the stack needs, and what it is charged beyond the usual."""
    import json

    from harness.host import build_stack, discover
    from harness.host import explain as explaining

    built = build_stack(stack, discover(plugin or ()))
    print(json.dumps(explaining.explain(built), indent=2) if as_json else explaining.render(built))
