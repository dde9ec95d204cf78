"""`harness evaluate MODEL --tasks a,b`: accuracy, pass@1, pass@k, length, truncation; lm-eval's own tasks too."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.evaluation import EvalReport
    from harness.evaluation.external import Measure

__all__ = ["register"]

TRUNCATED_WARNING = 0.02


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="evaluate")(evaluate)


def evaluate(  # noqa: PLR0917 (typer reads the options from the signature)
    model: Annotated[str, typer.Argument(help="A directory, the name of an added model, or embedded.")] = "embedded",
    tasks: Annotated[str, typer.Option(help="Tasks of the harness or of lm-eval, with commas between.")] = "math,code",
    problems: Annotated[
        int | None, typer.Option(min=1, help="Problems a task; default 500, lm-eval's own: all.")
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="Sampled completions a problem.")] = 4,
    k: Annotated[int | None, typer.Option("--pass-k", min=1, help="k of pass@k; default: the samples.")] = None,
    temperature: Annotated[float, typer.Option(min=1e-6, help="Temperature of the samples.")] = 1.0,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Longest completion; default: the task's own.")] = None,
    shots: Annotated[
        int | None, typer.Option(min=0, help="Examples before a problem of lm-eval; default: the task's own number.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Keys the sampling noise.")] = 0,
    split: Annotated[str, typer.Option(help="test or validation.")] = "test",
    dtype: Annotated[str, typer.Option(help="float32, bfloat16 or float64.")] = "float32",
    device: Annotated[str, typer.Option(help="Where the model runs.")] = "cpu",
    batch: Annotated[int, typer.Option(min=1, help="Completions at a time.")] = 256,
    sandbox: Annotated[str, typer.Option(help="namespaces, or limits where the machine refuses them.")] = "namespaces",
    include: Annotated[
        Path | None, typer.Option(file_okay=False, exists=True, help="A folder with lm-eval task files of your own.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Evaluate a model on tasks of the harness, or on any task that lm-eval knows by name."""
    from harness.evaluation.others import split_names
    from harness.tasks.load import task_names

    names = list(dict.fromkeys(name.strip() for name in tasks.split(",") if name.strip()))
    if not names:
        raise UsageError("--tasks names no task; for example --tasks math,code")
    if split not in ("test", "validation"):
        raise UsageError(f"--split {split}: allowed are test and validation")
    ours, theirs = split_names(names)

    from harness.policies.policy import Policy

    policy = Policy.load(model, dtype=dtype, device=device)
    report, measures = None, []
    if theirs:  # first: a name that is unknown should not cost an evaluation
        measures = _evaluate_theirs(
            policy, theirs, include, task_names(), sandbox,
            limit=problems, seed=seed, batch=min(batch, 64), max_tokens=max_tokens, shots=shots, samples=samples, k=k,
            temperature=temperature,
        )  # fmt: skip
    if ours:
        settings = {
            "problems": problems or 500, "samples": samples, "temperature": temperature, "max_tokens": max_tokens,
            "batch": batch, "split": split,
        }  # fmt: skip
        report = _evaluate_ours(policy, ours, settings, seed=seed, mode=sandbox, k=k)
    if as_json:
        rows = [vars(measure) for measure in measures]
        print(json.dumps((report.summary() if report else {}) | ({"lm_eval": rows} if rows else {}), indent=2))
        return
    _print(report, measures, samples)


def _evaluate_theirs(
    policy: Any, names: list[str], include: Path | None, known: Sequence[str], mode: str, **asking: Any
) -> list[Measure]:
    import contextlib

    from harness.evaluation.external import CODE_TASKS, Asking, evaluate_external
    from harness.tasks.sandbox import Sandbox

    with contextlib.ExitStack() as stack:
        needed = any(name in CODE_TASKS for name in names)
        sandbox = stack.enter_context(Sandbox(mode)) if needed else None  # type: ignore[arg-type]
        return evaluate_external(policy, names, Asking(**asking), include=include, known=known, sandbox=sandbox)


def _evaluate_ours(
    policy: Any, names: list[str], settings: dict[str, Any], *, seed: int, mode: str, k: int | None
) -> Any:
    import contextlib

    from harness.evaluation import evaluate as evaluate_tasks
    from harness.tasks.load import load_task
    from harness.tasks.sandbox import Sandbox
    from harness.training.config import EvaluationConfig

    loaded = [load_task(name) for name in names]
    with contextlib.ExitStack() as stack:
        needed = any(task.needs_sandbox for task in loaded)
        sandbox = stack.enter_context(Sandbox(mode)) if needed else None  # type: ignore[arg-type]
        report = evaluate_tasks(policy, loaded, EvaluationConfig(**settings), seed=seed, sandbox=sandbox, k=k)
    for task in loaded:
        for note in task.notes():
            typer.echo(note, err=True)
    return report


def _print(report: EvalReport | None, measures: list[Measure], samples: int) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if report is not None:
        k = next(iter(report.tasks.values()))["k"]
        table = Table("task", "problems", "greedy", "pass@1", f"pass@{k:.0f}", "strict", "length", "truncated")
        for name, row in report.tasks.items():
            shares = [f"{row[key]:.3f}" for key in ("accuracy", "pass_at_1", "pass_at_k")]
            shares.append(f"{row['strict']:.3f}" if "strict" in row else "-")
            table.add_row(name, f"{row['problems']:.0f}", *shares, f"{row['length']:.1f}", f"{row['truncated']:.1%}")
        console.print(table)
        console.print(f"score {report.score:.4f}: pass@1 over {samples} samples a problem, mean of the tasks")
        if any("strict" in row for row in report.tasks.values()):
            console.print("strict: pass@1 of answers in the form that the task asks for; the others count any form")
        for name, row in report.tasks.items():
            if row["truncated"] > TRUNCATED_WARNING:
                console.print(f"{name}: {row['truncated']:.1%} of the samples were cut; raise --max-tokens")
    if measures:
        table = Table("task", "metric", "value", "stderr", "problems")
        for measure in measures:
            stderr = "-" if measure.stderr is None else f"{measure.stderr:.4f}"
            table.add_row(measure.task, measure.metric, f"{measure.value:.4f}", stderr, str(measure.problems))
        console.print(table)
        for measure in measures:
            if measure.metric == "truncated" and measure.value > TRUNCATED_WARNING:
                console.print(f"{measure.task}: {measure.value:.1%} of the answers were cut; raise --max-tokens")
