"""`harness run`, without the command line: load, check, run what is missing, build the board."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from harness import runtime
from harness.files import read_json
from harness.suites.executor import Outcome, run_jobs
from harness.suites.expand import Canonical, canonical_stack, rows, slug, trials
from harness.suites.progress import Display
from harness.suites.schema import Suite
from harness.suites.stale import Present, refuse_stale
from harness.suites.status import TrialStatus, status_of
from harness.suites.store import RunDirectory, locked
from harness.suites.worker import DEFAULT_RUNNER, Job
from harness.training.config import TrialConfig

__all__ = ["Plan", "Report", "execute", "plan"]


@dataclass(frozen=True)
class Plan:
    """What a call of `harness run` is about to do."""

    suite: Suite
    store: RunDirectory
    trials: tuple[TrialConfig, ...]  # of this call's shard
    stacks: tuple[str, ...]
    shard: tuple[int, int] = (1, 1)


@dataclass
class Report:
    """What it did."""

    outcomes: list[Outcome] = field(default_factory=list)
    skipped: int = 0  # done before
    kept: list[TrialStatus] = field(default_factory=list)  # failed before, and not tried again
    signals: int = 0
    out_of_time: bool = False

    @property
    def failed(self) -> int:
        """Trials without a result, now or before."""
        return len(self.kept) + sum(outcome.status not in {"done", "interrupted"} for outcome in self.outcomes)

    @property
    def exit_code(self) -> int:
        """130 after a signal, 1 when a trial failed, else 0."""
        return 130 if self.signals else 1 if self.failed else 0


def plan(
    suite: Suite, *, out: Path | None = None, shard: tuple[int, int] = (1, 1), canonical: Canonical | None = None
) -> Plan:
    """Expand a suite; UsageError for unknown methods, tasks and models, before anything runs."""
    spelling = canonical or canonical_stack(suite.plugins)
    stacks = tuple(rows(suite, spelling))
    every = trials(suite, spelling)
    return Plan(suite, RunDirectory.of(suite.name, out), tuple(every[shard[0] - 1 :: shard[1]]), stacks, shard)


def execute(
    todo: Plan,
    *,
    workers: int | None = None,
    max_minutes: float | None = None,
    console: Console | None = None,
    runner: str = DEFAULT_RUNNER,
    present: Present | None = None,
    on_end: Callable[[Outcome], None] = lambda _: None,
) -> Report:
    """Run or resume the trials of a plan. Every fault of a trial ends in its outcome, none is raised.

    With `present`, trials on disk that would be others now are refused (UsageError). `on_end` hears of every trial.
    """
    console = console or Console(stderr=True)
    todo.store.record(todo.suite, todo.stacks)
    report = Report()
    jobs = []
    if present is not None:
        refuse_stale([status_of(config, todo.store) for config in todo.trials], present)
    for config in todo.trials:
        state = status_of(config, todo.store)
        if state.status == "done":
            report.skipped += 1
        elif state.ended and not _worth_another_try(state):
            report.kept.append(state)
        else:
            (state.directory / "result.json").unlink(missing_ok=True)
            jobs.append(Job(config, state.directory, runner))
    count = workers or max(1, runtime.cores() // todo.suite.threads)
    deadline = None if max_minutes is None else time.monotonic() + 60 * max_minutes
    interrupt = runtime.Interrupt()
    with Display(len(todo.trials), len(todo.trials) - len(jobs), console, on_end) as display:

        def announce(number: int) -> None:
            text = "finishing the running steps; once more to stop at once" if number == 1 else "stopping"
            display.bars.console.print(text, style="yellow")

        with interrupt.listening(announce):
            report.outcomes = run_jobs(jobs, workers=count, observer=display, interrupt=interrupt, deadline=deadline)
    report.signals = interrupt.count
    unfinished = len(report.outcomes) < len(jobs) or any(o.status == "interrupted" for o in report.outcomes)
    report.out_of_time = bool(deadline) and unfinished and not report.signals
    return report


def _worth_another_try(state: TrialStatus) -> bool:
    """A crash may have been the machine's; a trial that ran out of time may go on under a longer limit only."""
    if state.status == "timeout":
        before: Mapping[str, Any] = read_json(state.directory / "config.json").get("config", {}).get("limits", {})
        return state.config.limits.seconds > float(before.get("seconds", 0))
    return state.status == "failed"


def clean_targets(store: RunDirectory, methods: str = "") -> list[Path]:
    """What `harness clean` would remove: the whole directory, or those of some stacks, as written or canonical."""
    if not methods:
        return [store.path]
    from harness.host import split_methods

    wanted = split_methods(methods)
    recorded = store.suite()
    known = recorded.methods if recorded else ()
    unknown = [stack for stack in wanted if stack not in known]
    if unknown:
        spelling = canonical_stack(recorded.plugins if recorded else ())
        wanted = [stack if stack in known else spelling(stack) for stack in wanted]
    return [path for stack in wanted if (path := store.path / slug(stack)).is_dir()]


def clean(targets: Sequence[Path]) -> None:
    """Remove directories of runs. Raises HarnessError where one of them is being trained in."""
    for target in targets:
        for lock in target.glob("**/.lock"):
            with locked(lock.parent, patience=0):
                pass
    for target in targets:
        shutil.rmtree(target)
