"""`harness check METHOD|TASK|FILE|DISTRIBUTION`: what every plugin must pass, in seconds on the CPU."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from harness.conformance.results import Report
    from harness.conformance.subject import Subject
    from harness.conformance.task_reports import TaskSubject

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check")(check)


def check(  # noqa: PLR0917 - each is an option of the command line
    target: Annotated[str, typer.Argument(help="A method, a stack, a task, a .py file, or a distribution.")],
    only: Annotated[list[str] | None, typer.Option(help="One check; may be repeated.")] = None,
    vectors: Annotated[Path | None, typer.Option(help="Reference vectors, JSON Lines, plain or gzipped.")] = None,
    plugin: Annotated[list[Path] | None, typer.Option(help="A file whose methods a stack may name.")] = None,
    seed: Annotated[int, typer.Option(help="Another policy, another probe.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Processes for several methods; by default one a core.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check what a method or a task promises: exit 1 if a check fails. Several get a line each."""
    import json
    import sys

    from harness.conformance.all_methods import check_all
    from harness.conformance.run import selected
    from harness.runtime import cores, single_threaded

    tasks, found = _targets(target, seed, plugin or ())
    names = selected(only or ()) if found or not tasks else []
    single_threaded()
    reports, count = [], len(found) + len(tasks)
    methods = check_all(found, names, vectors, jobs or cores())
    for number, report in enumerate(itertools.chain(methods, _task_reports(tasks, [] if found else only or ())), 1):
        reports.append(report)
        if count > 1:
            print(f"[{number}/{count}] {report.line()}", file=sys.stderr if as_json else sys.stdout, flush=True)
    failed = [report for report in reports if report.failed]
    if as_json:
        print(json.dumps([report.data() for report in reports] if count > 1 else reports[0].data(), indent=2))
    else:
        print("\n\n".join(report.render() for report in (reports if count == 1 else failed)))
        if count > 1:
            kinds = "methods and tasks" if found and tasks else "tasks" if tasks else "methods"
            print(f"{count - len(failed)} of {count} {kinds} pass")
    if failed:
        raise typer.Exit(1)


def _targets(target: str, seed: int, plugins: Sequence[Path]) -> tuple[list[TaskSubject], list[Subject]]:
    """The tasks and the methods that a target stands for. A distribution with both is checked for its methods."""
    from harness.conformance.subject import subjects
    from harness.conformance.task_reports import task_subjects, tasks_of
    from harness.errors import UsageError

    tasks = task_subjects(target)
    try:
        return tasks, subjects(target, seed=seed, plugins=plugins)
    except UsageError:
        tasks = tasks or tasks_of(target)
        if not tasks:
            raise
        return tasks, []


def _task_reports(tasks: Sequence[TaskSubject], only: Sequence[str]) -> Iterator[Report]:
    from harness.conformance.task_reports import check_task, selected

    selected(only)  # refuse before anything is printed
    return (check_task(task, only) for task in tasks)
