"""Save after two steps, load into a new trial, go on for two: bit for bit what four steps give."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from harness.conformance.journal import digest
from harness.conformance.plugin_state import graphs
from harness.conformance.results import NotApplicable
from harness.conformance.task import tiny_trial
from harness.errors import CheckFailed
from harness.training import checkpoint
from harness.training.loop import step
from harness.training.resume import resume, tree

if TYPE_CHECKING:
    from harness.conformance.bench import Bench
    from harness.training.setup import Trial

STEPS = 2


def check(bench: Bench) -> str:
    """Through a real checkpoint on disk."""
    straight = _trial(bench)
    _steps(straight, 0)
    if graphs(straight.stack):
        raise NotApplicable("a plugin keeps a graph, which no checkpoint can hold: see graph")
    loaded = _trial(bench)
    with tempfile.TemporaryDirectory() as directory:
        checkpoint.save(Path(directory), STEPS, tree(straight))
        found = checkpoint.load_newest(Path(directory))
    assert found is not None
    _require_nothing_left(straight, loaded)
    resume(loaded, found[1])
    expected, got = _steps(straight, STEPS), _steps(loaded, STEPS)
    for number, (one, other) in enumerate(zip(expected, got, strict=True)):
        odd = [name for name in one.keys() | other.keys() if not _equal(one.get(name), other.get(name))]
        if odd:
            raise CheckFailed(
                f"step {STEPS + number} after a resume differs in {', '.join(sorted(odd)[:4])}; state is plain "
                "attributes of the plugin, set in start"
            )
    held = _state(straight)
    return f"{STEPS} + {STEPS} steps are {2 * STEPS}" + (f"; state: {', '.join(held)}" if held else "; no state")


def _require_nothing_left(run: Trial, fresh: Trial) -> None:
    """Raise CheckFailed for an attribute that a plugin hung on `state`, which no checkpoint keeps."""
    strange = sorted(set(vars(run.context.state)) - set(vars(fresh.context.state)))
    if strange:
        raise CheckFailed(
            f"state.{strange[0]} is set by a hook, and lost on resume; keep it as an attribute of the plugin"
        )


def _trial(bench: Bench) -> Trial:
    subject = bench.subject
    return tiny_trial(subject.stack, subject.catalogue, seed=bench.seed)


def _steps(trial: Trial, first: int) -> list[dict[str, Any]]:
    """Metrics of two steps, and after them the weights, what plugins remember, and the modules that they built."""
    found: list[dict[str, Any]] = []
    for number in range(first, first + STEPS):
        metrics, _ = step(trial.context, trial.lag, number)
        found.append(dict(metrics))
    found[-1] |= {f"weights {name}": p.detach() for name, p in trial.context.policy.model.named_parameters()}
    kept = tree(trial)
    for kind in ("plugins", "modules"):
        for label, held in kept[kind].items():
            found[-1] |= {f"{kind} {label}.{name}": digest(value) for name, value in held.items()}
    return found


def _state(trial: Trial) -> list[str]:
    return [name for held in trial.stack.state_dict().values() for name in held]


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return torch.equal(one, other)
    return type(one) is type(other) and bool(one == other or (one != one and other != other))  # noqa: PLR0124
