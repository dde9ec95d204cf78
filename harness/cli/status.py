"""`harness status SUITE`: done, running, failed, time left, scores so far."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("status")(status)


def status(
    suite: Annotated[str, typer.Argument(help="Name or path of a suite that has run.")],
    out: Annotated[Path | None, typer.Option(help="Where runs are kept (default ./runs).")] = None,
    workers: Annotated[
        int, typer.Option(min=0, help="Reckon the time left with so many workers; 0: those running.")
    ] = 0,
) -> None:
    """Say how far a suite is."""
    from collections import Counter

    from rich.console import Console
    from rich.table import Table

    from harness.suites.expand import trials
    from harness.suites.status import FAILURES, status_of, time_left

    store = options.run_directory(suite, out)
    recorded = store.suite()
    assert recorded is not None
    states = [status_of(config, store) for config in trials(recorded, str, controls=False)]
    console = Console()
    table = Table("method", "seeds", "state", "score so far", box=None, header_style="bold")
    for method in dict.fromkeys(state.config.method for state in states):
        row = [state for state in states if state.config.method == method]
        counts = Counter(state.status for state in row)
        going = ", ".join(f"{100 * state.progress:.0f} %" for state in row if state.status == "running")
        text = ", ".join(f"{count} {name}" for name, count in counts.items()) + (f" ({going})" if going else "")
        scores = [state.score for state in row if state.score is not None]
        if recorded.tuning is not None:
            from harness.suites.tune import progress

            ended, whole = progress(store, recorded, method)
            text = f"tuning {ended}/{whole}, {text}" if ended < whole else text
        table.add_row(method, str(len(row)), text, f"{sum(scores) / len(scores):.3f}" if scores else "-")
    console.print(table)
    for state in states:
        if state.status in FAILURES:
            line = f"{state.status}: {state.config.method} seed {state.config.seed}: {state.error}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    counts = Counter(state.status for state in states)
    console.print(
        f"{counts['done']} of {len(states)} done" + _left(time_left(states, workers or counts["running"]), counts)
    )


def _left(seconds: float | None, counts: dict[str, int]) -> str:
    if seconds is None or seconds <= 0:
        return ""
    hours, minutes = divmod(int(seconds / 60 + 0.999), 60)
    text = f"{hours} h {minutes} min" if hours else f"{minutes} min"
    return f", about {text} left" + ("" if counts.get("running") else " with one worker; nothing runs now")
