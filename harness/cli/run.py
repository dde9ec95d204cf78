"""`harness run SUITE`: run a suite, or go on with it."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli import options
from harness.errors import HarnessError, UsageError, nearest

if TYPE_CHECKING:
    from harness.suites.executor import Outcome
    from harness.suites.run import Plan, Report
    from harness.suites.schema import Suite

__all__ = ["register"]

EXECUTORS = ("local", "ray")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run)


def run(  # noqa: PLR0917 -- typer reads options from the signature
    suite: Annotated[str, typer.Argument(help="Name of a bundled suite, or a path.", show_default=False)] = "",
    methods: Annotated[str, typer.Option(help="Run these stacks instead of the suite's: a,b+c(x=1).")] = "",
    seeds: Annotated[str, typer.Option(help="A count (5) or seeds (0,2,4-7).")] = "",
    budget: Annotated[str, typer.Option(help="Budget of a trial in the suite's currency: 200k, 1.5M.")] = "",
    plugin: Annotated[list[str] | None, typer.Option(help="A Python file with @method classes.")] = None,
    workers: Annotated[int, typer.Option(min=0, help="Trials at a time; 0: one per core, one on CUDA.")] = 0,
    executor: Annotated[str, typer.Option(help="local, or ray: over the machines of a Ray cluster.")] = "local",
    ray_address: Annotated[str, typer.Option(help="The Ray cluster (default: RAY_ADDRESS, else one here).")] = "",
    ranks: Annotated[int, typer.Option(min=0, help="Processes that share a trial, a GPU each; 0: as the suite.")] = 0,
    shard: Annotated[str, typer.Option(help="Run part i of n (3/16), without MLflow.")] = "1/1",
    max_minutes: Annotated[float | None, typer.Option(min=0, help="Stop cleanly after so long.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Change a setting: optimizer.lr=3e-5.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the resolved suite and what runs, and stop.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Where runs are kept (default ./runs).")] = None,
    tracking_uri: Annotated[str, typer.Option(help="MLflow store (default: sqlite in --out).")] = "",
    no_tracking: Annotated[bool, typer.Option("--no-tracking", help="Do not write to MLflow.")] = False,
    sandbox: Annotated[str, typer.Option(help="namespaces or limits: how code of tasks is confined.")] = "",
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of suite files and stop.")] = False,
) -> None:
    """Run a suite, or go on with it: the same command again resumes."""
    if schema:
        from harness.suites.jsonschema import schema_text

        print(schema_text(), end="")
        return
    if not suite:
        from harness.resources import bundled_suites

        raise UsageError(f"which suite? Bundled: {', '.join(bundled_suites())}; or the path of a file")
    if executor not in EXECUTORS:
        raise UsageError(f"--executor {executor}: unknown.{nearest(executor, EXECUTORS)}")
    if ray_address and executor != "ray":
        raise UsageError("--ray-address is for --executor ray; give both, or neither")
    part = options.shard(shard)
    sets = [*(set_ or []), *([f"resources.ranks={ranks}"] if ranks else [])]
    chosen = load(suite, sets, methods=methods, seeds=seeds, budget=budget, plugins=plugin or [], sandbox=sandbox)
    from harness.suites.executor import prepare_workers
    from harness.suites.first_step import check_first_step
    from harness.suites.memory import said as memory
    from harness.suites.missing import check_machine
    from harness.suites.preflight import check_suite
    from harness.suites.run import execute, plan, side_by_side
    from harness.suites.stale import Present

    if not dry_run:
        if executor == "local":
            check_machine(chosen)
        for note in check_suite(chosen):
            print(note, file=sys.stderr)
        if executor == "local":
            prepare_workers(threads=chosen.threads, device=chosen.policy.device)  # it imports while we do
    planned = plan(chosen, out=out, shard=part)
    if dry_run:
        from harness.cli.dry_run import summary

        where = "here" if executor == "local" else "on the cluster"
        lines = [*search_of(planned), *summary(planned, suite, workers or side_by_side(chosen), where)]
        print(chosen.to_yaml(), *(f"# {line}\n" for line in lines), sep="", end="")
        return
    check_first_step(planned.trials)
    at_once = (workers or side_by_side(chosen)) if executor == "local" else 1
    print(*memory(planned.trials, at_once), sep="\n", file=sys.stderr)
    if planned.searches:
        from harness.suites.tune import cost, search_trials

        check_first_step(search_trials(planned))
        print(cost(planned), file=sys.stderr)
    options.folder("--out", planned.store.path)
    uri = "" if no_tracking or part[1] > 1 else prepare_tracking(planned, tracking_uri)
    with place(executor, ray_address) as run_on, mirror(planned.store.path, uri) as on_end:
        report = execute(
            planned,
            workers=workers or None,
            max_minutes=max_minutes,
            present=Present(chosen),
            on_end=on_end,
            run_on=run_on,
        )
    finish(planned, report, uri)
    raise typer.Exit(report.exit_code)


def search_of(planned: Plan) -> list[str]:
    """How a suite with tuning searches, and the space of every row."""
    if not planned.searches:
        return []
    from harness.suites.tune import described

    return described(planned)[:-1]  # the last line is what it costs


@contextlib.contextmanager
def place(executor: str, ray_address: str) -> Iterator[Callable[..., Any] | None]:
    """Where trials run: None for processes of this machine, else what runs them."""
    if executor == "local":
        yield None
        return
    from harness.suites.ray_cluster import joined
    from harness.suites.ray_executor import RayExecutor

    with joined(ray_address) as ray:
        yield RayExecutor(ray).run_jobs


def load(
    suite: str, sets: list[str], *, methods: str, seeds: str, budget: str, plugins: list[str], sandbox: str
) -> Suite:
    """The suite with what the command line changes in it."""
    from harness.suites.schema import Suite, parse_amount, parse_seeds

    overrides: dict[str, Any] = {}
    if methods:
        overrides["methods"] = options.stacks("--methods", methods)
    if seeds:
        overrides["seeds"] = options.value("--seeds", seeds, parse_seeds)
    if sandbox:
        overrides["sandbox"] = sandbox
    if plugins:
        missing = next((file for file in plugins if not Path(file).is_file()), None)
        if missing:
            raise UsageError(f"--plugin {missing}: no such file")
        overrides["plugins"] = tuple(str(Path(file).resolve()) for file in plugins)
    if budget:
        overrides["budget"] = {Suite.load(suite).budget.currency: options.value("--budget", budget, parse_amount)}
    return Suite.load(suite, sets, overrides)


def prepare_tracking(planned: Plan, uri: str) -> str:
    """Create MLflow's store before any worker starts: first use by several processes is a race. Returns its URI."""
    from harness.tracking import default_uri, prepare_store

    chosen = uri or default_uri(planned.store.path.parent)
    prepare_store(chosen)
    return chosen


@contextlib.contextmanager
def mirror(directory: Path, uri: str) -> Iterator[Callable[[Outcome], None]]:
    """What writes a trial to MLflow as it ends, so that a long suite can be watched there."""
    if not uri:
        yield lambda _: None
        return
    from harness.tracking import Mirror

    writer = Mirror(directory, uri, lambda line: print(f"harness: {line}", file=sys.stderr))
    try:
        yield lambda outcome: writer.add(outcome.job.directory)
    finally:
        writer.close()


def finish(planned: Plan, report: Report, uri: str) -> None:
    """Board, MLflow, and what to do next."""
    name = planned.suite.name
    if planned.shard[1] > 1:
        print(
            f"part {planned.shard[0]} of {planned.shard[1]} is over; "
            f"`harness leaderboard {name}{planned.store.out_option} --rebuild` merges all parts"
        )
    elif report.skipped or report.outcomes or report.kept:
        try:
            show_board(planned.store.path, uri)
        except HarnessError as error:  # the runs are fine, and their files are the truth
            print(f"harness: {error}", file=sys.stderr)
    for state in report.kept:
        print(f"{state.config.method} seed {state.config.seed} {state.status} before: {state.error}", file=sys.stderr)
    if report.signals or report.out_of_time:
        why = "interrupted" if report.signals else "out of time (--max-minutes)"
        print(f"{why}; go on with: {resume_command()}", file=sys.stderr)


def show_board(directory: Path, uri: str) -> None:
    """Print the table and write it to MLflow."""
    from harness.cli.leaderboard import show
    from harness.leaderboard import board

    made = board(directory)
    show(made, "table")
    if uri:
        from harness.tracking import sync

        done = sync(made, directory, uri)
        print(f"MLflow: {uri}, {done.created + done.updated} rows written; `harness ui` opens it")


def resume_command() -> str:
    """The command line that was given."""
    return shlex.join(["harness", *sys.argv[1:]])
