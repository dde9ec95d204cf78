"""`harness explain STACK`: the chain per hook, as it will run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from harness.host.regime import Regime

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain)


def explain(
    stack: Annotated[str, typer.Argument(help="A method stack, such as 'dapo+f-grpo(gamma=2)'.")],
    suite: Annotated[
        str, typer.Option(help="Say what is inert under this suite, and which rewards of weight 0 are used.")
    ] = "",
    plugin: Annotated[list[Path] | None, typer.Option(help="A file with methods of your own; may be repeated.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show the chain of every hook as it will run, what the stack needs and is charged beyond the usual, and oddities.

    Oddities are measured: advantages that are standardised twice, parts that change nothing, needs that nothing reads.
    """
    import json

    from harness.host import build_stack, discover
    from harness.host import explain as explaining

    regime, files, weights = _settings(suite) if suite else (None, [], {})
    built = build_stack(stack, discover([*files, *(plugin or ())]))
    found = (built, regime, weights)
    print(json.dumps(explaining.explain(*found), indent=2) if as_json else explaining.render(*found))


def _settings(suite: str) -> tuple[Regime, list[Path], dict[str, float]]:
    """Of a suite how far batches are from the policy that trains on them, the plugin files, and its reward weights."""
    from harness.host.regime import Regime
    from harness.suites.schema import Suite
    from harness.tasks.load import load_task
    from harness.tasks.mixture import merged_weights

    loaded = Suite.load(suite)
    learner = loaded.learner
    regime = Regime.of(learner.minibatches, learner.updates_per_batch, loaded.sampler.lag)
    weights = merged_weights([load_task(share.task, share.options) for share in loaded.tasks], loaded.reward_weights)
    return regime, [Path(file) for file in loaded.plugins], weights
