"""`harness claims [METHODS]`: run the small checks of what papers claim of their methods."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("claims")(claims)


def claims(
    methods: Annotated[list[str] | None, typer.Argument(help="Methods; without any, all.")] = None,
    plugin: Annotated[list[Path] | None, typer.Option(help="A Python file with methods and claims.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say of every claim whether it shows, and with which numbers. Exits with 0 either way."""
    import dataclasses
    import json

    from harness.claims import claims as find
    from harness.claims import report
    from harness.host import discover
    from harness.runtime import single_threaded

    single_threaded()
    for entry in discover(plugin or ()).values():
        if entry.from_file:
            entry.load()
    found = [(one, one.evidence()) for one in find(methods or ())]
    if as_json:
        rows = [{"method": one.method, "says": one.says, **dataclasses.asdict(evidence)} for one, evidence in found]
        print(json.dumps(rows, indent=2))
        return
    print(report(found))
    shown = sum(evidence.shown for _, evidence in found)
    print(f"{shown} of {len(found)} claims show.")
