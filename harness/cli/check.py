"""`harness check METHOD|FILE|DISTRIBUTION`: what every plugin must pass, in seconds on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check")(check)


def check(  # noqa: PLR0917 - each is an option of the command line
    target: Annotated[str, typer.Argument(help="A method or stack, a .py file with methods, or a distribution.")],
    only: Annotated[list[str] | None, typer.Option(help="One check; may be repeated.")] = None,
    vectors: Annotated[Path | None, typer.Option(help="Reference vectors, JSON Lines, plain or gzipped.")] = None,
    plugin: Annotated[list[Path] | None, typer.Option(help="A file whose methods a stack may name.")] = None,
    seed: Annotated[int, typer.Option(help="Another policy, another probe.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Processes for several methods; by default one a core.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check what a method promises: exit 1 if a check fails. A distribution gets a line a method and its failures."""
    import json
    import sys

    from harness.conformance.all_methods import check_all
    from harness.conformance.run import selected
    from harness.conformance.subject import subjects
    from harness.runtime import cores, single_threaded

    names, found = selected(only or ()), subjects(target, seed=seed, plugins=plugin or ())
    single_threaded()
    reports = []
    for number, report in enumerate(check_all(found, names, vectors, jobs or cores()), 1):
        reports.append(report)
        if len(found) > 1:
            print(f"[{number}/{len(found)}] {report.line()}", file=sys.stderr if as_json else sys.stdout, flush=True)
    failed = [report for report in reports if report.failed]
    if as_json:
        print(json.dumps([report.data() for report in reports] if len(found) > 1 else reports[0].data(), indent=2))
    else:
        print("\n\n".join(report.render() for report in (reports if len(found) == 1 else failed)))
        if len(found) > 1:
            print(f"{len(found) - len(failed)} of {len(found)} methods pass")
    if failed:
        raise typer.Exit(1)
