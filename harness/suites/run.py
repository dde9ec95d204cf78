"""`harness run`, without the command line: load, check, run what is missing, build the board."""

from __future__ import annotations

import functools
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from harness.tuning.search import Search

__all__ = ["Plan", "Report", "execute", "plan", "side_by_side"]


@dataclass(frozen=True)
class Plan:
    """What a call of `harness run` is about to do."""

    suite: Suite
    store: RunDirectory
    trials: tuple[TrialConfig, ...]  # of this call's shard
    stacks: tuple[str, ...]
    shard: tuple[int, int] = (1, 1)
    searches: tuple[Search, ...] = ()  # of the rows of a suite with tuning; `trials` are then as if it had none


@dataclass
class Report:
    """What it did."""

    outcomes: list[Outcome] = field(default_factory=list)
    searched: list[Outcome] = field(default_factory=list)  # search trials; one that failed has lost, no more
    skipped: int = 0  # done before
    kept: list[TrialStatus] = field(default_factory=list)  # failed before, and not tried again
    signals: int = 0
    out_of_time: bool = False

    @property
    def failed(self) -> int:
        """Trials without a result, now or before; of search trials those that another run holds."""
        busy = sum(outcome.status == "busy" for outcome in self.searched)
        return len(self.kept) + busy + sum(o.status not in {"done", "interrupted"} for o in self.outcomes)

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
    every, store = trials(suite, spelling), RunDirectory.of(suite.name, out)
    if suite.tuning is None:
        return Plan(suite, store, tuple(every[shard[0] - 1 :: shard[1]]), stacks, shard)
    from harness.suites.tune import searches_of

    mine = set(stacks[shard[0] - 1 :: shard[1]])  # whole rows: the report of a row needs all of its search
    own = tuple(trial for trial in every if trial.method in mine)
    return Plan(suite, store, own, stacks, shard, searches_of(suite, own))


def side_by_side(suite: Suite) -> int:
    """How many trials of a suite run at a time unless one is told: those that this machine has cores for.

    One on CUDA, where all would meet on the first GPU, and one at a server, where they would overwrite their weights.
    """
    if suite.sampler.served or suite.policy.device.startswith("cuda"):
        return 1
    return max(1, runtime.cores() // (suite.threads * suite.resources.ranks))


def execute(
    todo: Plan,
    *,
    workers: int | None = None,
    max_minutes: float | None = None,
    console: Console | None = None,
    runner: str = DEFAULT_RUNNER,
    present: Present | None = None,
    on_end: Callable[[Outcome], None] = lambda _: None,
    run_on: Callable[..., list[Outcome]] | None = None,
) -> Report:
    """Run or resume the trials of a plan. Every fault of a trial ends in its outcome, none is raised.

    With `present`, trials on disk that would be others now are refused (UsageError). `on_end` hears of every trial.
    `run_on` runs them elsewhere than in processes of this machine, as `RayExecutor.run_jobs` does.
    """
    console = console or Console(stderr=True)
    todo.store.record(todo.suite, todo.stacks)
    report = Report()
    search = _search_jobs(todo, runner, present) if todo.searches else []
    jobs = [] if todo.searches else _jobs(todo, runner, present, report)
    waiting = len(search) + sum(not _over(status_of(config, todo.store)) for config in todo.trials)
    whole = len(todo.trials) + sum(len(one.candidates) * len(one.tuning.numbers) for one in todo.searches)
    count = workers or (side_by_side(todo.suite) if run_on is None else None)
    deadline = None if max_minutes is None else time.monotonic() + 60 * max_minutes
    interrupt = runtime.Interrupt()
    with Display(whole, whole - waiting, console, on_end) as display:

        def announce(number: int) -> None:
            text = "finishing the running steps; once more to stop at once" if number == 1 else "stopping"
            display.bars.console.print(text, style="yellow")

        with interrupt.listening(announce):
            start: Callable[..., list[Outcome]] = run_on or run_jobs
            run = functools.partial(start, workers=count, observer=display, interrupt=interrupt, deadline=deadline)
            if todo.searches:
                report.searched = run(search)
                jobs = _jobs(todo, runner, present, report)
            report.outcomes = run(jobs)
    report.signals = interrupt.count
    ended = [outcome for outcome in (*report.searched, *report.outcomes) if outcome.status != "interrupted"]
    report.out_of_time = bool(deadline) and len(ended) < waiting and not report.signals
    return report


def _search_jobs(todo: Plan, runner: str, present: Present | None) -> list[Job]:
    """The search trials that have not ended. One that failed has been spent, and is not tried again."""
    from harness.suites.tune import search_trials

    if present is not None:
        refuse_stale([status_of(config, todo.store) for config in search_trials(todo)], present, todo.store.out_option)
    states = [status_of(config, todo.store) for config in search_trials(todo)]
    return [Job(state.config, state.directory, runner) for state in states if not state.ended]


def _jobs(todo: Plan, runner: str, present: Present | None, report: Report) -> list[Job]:
    """The trials of the report that are to run, with what search chose; those of before are counted."""
    configs: Sequence[TrialConfig] = todo.trials
    if todo.searches:
        from harness.suites.tune import chosen_trials

        configs = chosen_trials(todo)
    if present is not None:
        refuse_stale([status_of(config, todo.store) for config in configs], present, todo.store.out_option)
    jobs = []
    for config in configs:
        state = status_of(config, todo.store)
        if state.status == "done":
            report.skipped += 1
        elif _over(state):
            report.kept.append(state)
        else:
            (state.directory / "result.json").unlink(missing_ok=True)
            jobs.append(Job(config, state.directory, runner))
    return jobs


def _over(state: TrialStatus) -> bool:
    """Whether a trial is not run again."""
    return state.status == "done" or (state.ended and not _worth_another_try(state))


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
