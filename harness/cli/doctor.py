"""`harness doctor [SUITE]`: what this installation, machine and suite lack."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["register"]

COLOURS = {"ok": "green", "warn": "yellow", "fix": "red"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(
    suite: Annotated[str, typer.Argument(help="Also check that this suite can run here.", show_default=False)] = "",
    set_: Annotated[list[str] | None, typer.Option("--set", help="Settings as for `harness run`: key=value.")] = None,
    workers: Annotated[int, typer.Option(help="Trials at a time; default: as `harness run`.", show_default=False)] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Do not rehearse the suite's dearest step.")] = False,
    out: Annotated[Path, typer.Option(help="Where runs are kept.")] = Path("runs"),
) -> None:
    """Check versions, extras, threads, sandbox, store and disk; for a suite also its model, tasks and memory.

    The dearest step of the suite (longest prompts and completions, full micro-batch) is lived through in a process of
    its own; where it does not fit, the largest micro-batch that does is found. Exit code 1 if something is to be fixed.
    """
    from rich.console import Console
    from rich.text import Text

    from harness.doctor.findings import FIX, guarded, told_once
    from harness.doctor.machine import machine_checks

    console = Console()
    checks = {str(number): check for number, check in enumerate(machine_checks(out, code=not suite))}
    if suite:
        from harness.doctor.suite import SuiteChecks
        from harness.suites.schema import Suite

        checks |= SuiteChecks(Suite.load(suite, set_ or []), out, workers=workers, quick=quick).checks()
    bad, told = False, dict[str, str]()
    for subject, check in checks.items():
        for found in guarded(check, "check" if subject.isdecimal() else subject):
            bad = bad or found.mark == FIX
            mark = (f"{found.mark:<5}", COLOURS[found.mark])
            text = told_once(found, told).text
            console.print(Text.assemble(mark, (f"{found.subject:<10}", "bold"), text), soft_wrap=True)
    raise typer.Exit(int(bad))
