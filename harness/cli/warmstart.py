"""`harness warmstart`: build the embedded checkpoint again, measure it, compare it with the shipped one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

if TYPE_CHECKING:
    from harness.warmstart.measure import TaskReport

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(warmstart)


def warmstart(
    out: Annotated[Path, typer.Option(help="Directory for the checkpoint; new or empty.")] = Path("warmstart"),
    steps: Annotated[int | None, typer.Option(min=1, help="Steps of the warm-up; default: the recipe's.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the warm-up; default: the recipe's.")] = None,
    problems: Annotated[int, typer.Option(min=1, help="Validation problems a task to measure on.")] = 500,
    sandbox: Annotated[str, typer.Option(help="How programs are run: namespaces or limits.")] = "namespaces",
) -> None:
    """Rebuild the embedded checkpoint: supervised warm-up on a mixture of behaviours, on one thread."""
    from harness.errors import UsageError
    from harness.runtime import single_threaded

    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} exists and is not empty; give another directory with --out")

    import dataclasses

    from harness.policies.policy import Policy
    from harness.policies.registry import EMBEDDED
    from harness.tasks.sandbox import Sandbox
    from harness.warmstart.measure import check, measure
    from harness.warmstart.train import Recipe, WarmUp, save

    single_threaded()
    recipe = Recipe()
    recipe = dataclasses.replace(
        recipe, steps=recipe.steps if steps is None else steps, seed=recipe.seed if seed is None else seed
    )
    with Sandbox(sandbox) as box:  # type: ignore[arg-type]  # it names the allowed modes itself
        with _Progress(recipe.steps) as progress:
            policy = WarmUp(recipe).run(progress.update)
        save(policy, out)
        policy = Policy.load(out)
        reports = measure(policy, box, problems=problems)
    _show(reports)
    try:
        same = Policy.load(EMBEDDED).digest() == policy.digest()
    except UsageError:
        same = None
    verdict = {True: "equal to", False: "different from", None: "and there is no"}[same]
    typer.echo(f"wrote {out}: {policy.n_params:,} parameters, {verdict} the shipped checkpoint")
    check(reports)


class _Progress:
    """A rich bar with the loss beside it."""

    def __init__(self, total: int) -> None:
        from rich.progress import Progress

        self._bar = Progress(transient=True)
        self._task = self._bar.add_task("warm-up", total=total)

    def update(self, step: int, loss: float) -> None:
        self._bar.update(self._task, completed=step, description=f"warm-up, loss {loss:.3f}")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()


def _show(reports: list[TaskReport]) -> None:
    """Print a table per task."""
    for report in reports:
        typer.echo(
            f"{report.task}: pass rate {report.pass_rate:.3f}, length {report.length:.1f},"
            f" truncated {report.truncated:.3f}"
        )
        for title, rows in (("behaviour", report.behaviours), ("kind", report.kinds)):
            for name, (share, accuracy) in rows.items():
                typer.echo(f"  {title:<10} {name:<20} share {share:.3f}  accuracy {accuracy:.3f}")
