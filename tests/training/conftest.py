"""A tiny policy, trials of a second, and plugins written where they are tested."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.batch import Batch
from harness.host import discover
from harness.policies.random import tiny_policy
from harness.training.config import (
    BudgetConfig,
    LearnerConfig,
    OptimizerConfig,
    PolicyConfig,
    SamplerConfig,
    SamplingConfig,
    TrialConfig,
)  # fmt: skip
from harness.training.loop import STAGES
from harness.training.setup import Trial, make, open_sandbox
from harness.training.stages.update import update

CHARACTERS = "0123456789+-=;#"


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


_discover = functools.cache(discover)


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    """Installed plugins are read once, and nothing waits for the disk: neither changes what is tested here."""
    monkeypatch.setattr("harness.training.setup.discover", _discover)
    monkeypatch.setattr("os.fsync", lambda _: None)


@pytest.fixture(scope="session")
def policy_dir(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Random weights, scaled up so that completions end, differ and are long enough to train on."""
    directory = tmp_path_factory.mktemp("policy")
    policy = tiny_policy(seed=3, characters=CHARACTERS)
    with torch.no_grad():
        for name, parameter in policy.model.named_parameters():
            if "norm" not in name:
                parameter.mul_(3.0)
    policy.save(directory)
    return str(directory)


@pytest.fixture
def config(policy_dir: str) -> Callable[..., TrialConfig]:
    """Settings of a small trial; keywords change single numbers."""

    def made(method: str = "grpo(beta=0)", **changes: Any) -> TrialConfig:
        def take(section: Any, **defaults: Any) -> Any:
            names = set(section.model_fields)
            found = {name: changes.pop(name) for name in list(changes) if name in names}
            return section(**{**defaults, **found})

        currency = next((c for c in BudgetConfig.model_fields if c in changes), None)
        budget = BudgetConfig(**({currency: changes.pop(currency)} if currency else {"compute": 5000}))
        dtype = changes.pop("dtype", "float32")
        sections = {
            "policy": PolicyConfig(model=policy_dir, dtype=dtype),
            "sampling": take(SamplingConfig, prompts=4, group_size=4, max_tokens=8),
            "learner": take(LearnerConfig, minibatches=2, micro_batch=64),
            "optimizer": take(OptimizerConfig, lr=1e-3),
            "sampler": take(SamplerConfig),
        }
        changes.setdefault("checkpoint_seconds", 1e9)
        return TrialConfig(suite="test", method=method, budget=budget, **sections, **changes)

    return made


@pytest.fixture
def plugin(tmp_path: Path) -> Callable[[str], tuple[str, ...]]:
    """Writes a plugin file; returns what `TrialConfig.plugins` takes."""

    def written(source: str) -> tuple[str, ...]:
        path = tmp_path / f"plugin_{len(list(tmp_path.glob('plugin_*.py')))}.py"
        head = "import torch\nfrom harness import Trained, hookimpl, method\n\n\n"
        path.write_text(head + textwrap.dedent(source))
        return (str(path),)

    return written


@pytest.fixture
def started():
    """Sets a trial up and runs the stages of one step that come before the update."""
    opened = []

    def begin(settings: TrialConfig, number: int = 0) -> tuple[Trial, Batch]:
        manager = open_sandbox(settings)
        task, sandbox = manager.__enter__()
        opened.append(manager)
        trial = make(settings, task, sandbox)
        return trial, before_update(trial, number)

    yield begin
    for manager in opened:
        manager.__exit__(None, None, None)


def before_update(trial: Trial, number: int = 0) -> Batch:
    """The batch that the update stage would receive."""
    context = trial.context
    context.state.begin_step(number, context.ledger.progress)
    context.age = trial.lag.begin_step()
    batch: Any = None
    for stage in STAGES[: STAGES.index(update)]:
        batch = stage(context, batch)
    context.learner.begin()
    return batch


def gradients(trial: Trial, batch: Batch) -> list[torch.Tensor]:
    """The gradient of a minibatch on everything that trains; the learner is left as it was."""
    learner = trial.context.learner
    learner.begin()
    for parameter in learner.parameters:
        parameter.grad = None
    learner.backward(batch)
    found = [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in learner.parameters]
    for parameter in learner.parameters:
        parameter.grad = None
    learner.pending = 0
    return found


def apart(a: list[torch.Tensor], b: list[torch.Tensor]) -> float:
    """The largest difference relative to the largest entry."""
    scale = max(float(x.abs().max()) for x in a)
    return max(float((x - y).abs().max()) for x, y in zip(a, b, strict=True)) / max(scale, 1e-30)
