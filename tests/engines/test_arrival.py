"""Weights that were pushed and did not arrive, with engines that ignore, mix up or delay them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.engines import Answer, EngineSampler, Job
from harness.errors import HarnessError
from harness.policies.policy import Policy
from harness.policies.random import tiny_policy
from harness.policies.rollouts import Request
from tests.engines.test_sampler import Twin

REQUEST = [Request("a", (5, 6, 7), 1, max_tokens=4, greedy=True)]


class Deaf(Twin):
    """Takes every push with thanks and goes on with the weights that it started with."""

    def load(self, directory: Path) -> None:
        if not hasattr(self, "policy"):
            super().load(directory)


class Noisy(Twin):
    """Log-probabilities that differ from the policy's by another amount each time, as in another precision."""

    noise = 0.05

    def __init__(self, folder: Path) -> None:
        self.generator = torch.Generator().manual_seed(1)
        super().__init__(folder)

    def write(self, jobs: Sequence[Job], stop_ids: Sequence[int]) -> list[Answer]:
        answers = super().write(jobs, stop_ids)
        draw = torch.rand(sum(len(a.ids) for a in answers), generator=self.generator)
        shift = iter((draw - 0.5).mul(2 * self.noise).tolist())
        return [Answer(a.ids, tuple(value + next(shift) for value in a.logp)) for a in answers]


class DeafAndNoisy(Noisy, Deaf):
    """Never the same to the bit, and always the old weights."""


def sampler_over(kind: Any, policy: Policy, folder: Path) -> EngineSampler:
    policy.save(folder)
    return EngineSampler(policy, kind(folder), folder)


def step(policy: Policy, size: float) -> None:
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in policy.weights().values():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=size)


def lora_policy() -> Policy:
    pytest.importorskip("peft", reason="LoRA needs the extra policy-harness[lora]")
    from tests.policies.test_adapter import lora_policy as adapted

    return adapted()


@pytest.mark.parametrize("kind", [Deaf, DeafAndNoisy])
@pytest.mark.parametrize("make", [tiny_policy, lora_policy])
def test_an_engine_that_keeps_its_weights_is_found_at_the_next_push(tmp_path: Path, make: Any, kind: Any) -> None:
    sampler = sampler_over(kind, make(), tmp_path)
    sampler.generate(REQUEST, seed=0, step=0)
    step(sampler.policy, 0.3)
    with pytest.raises(HarnessError, match=r"^new weights do not reach the engine: on \d+ .* given\?$"):
        sampler.generate(REQUEST, seed=0, step=1)


def test_a_base_model_without_its_adapter_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are written and loaded, and what trains is not in them."""
    sampler = sampler_over(Twin, lora_policy(), tmp_path)
    base = lora_policy()
    monkeypatch.setattr("harness.engines.sampler.save", lambda _, folder: base.save(folder))
    step(sampler.policy, 0.1)
    with pytest.raises(HarnessError, match=r"do not reach the engine.* the engine's by 0;"):
        sampler.generate(REQUEST, seed=0, step=1)


def test_pushes_one_behind_are_found(tmp_path: Path) -> None:
    """An engine that always has the weights of the push before moves with every push."""

    class Behind(Twin):
        held: Policy | None = None

        def load(self, directory: Path) -> None:
            newest = Policy.load(directory)
            self.policy, self.held, self.loaded = self.held or newest, newest, self.loaded + 1

    sampler = sampler_over(Behind, tiny_policy(), tmp_path)
    step(sampler.policy, 0.05)
    with pytest.raises(HarnessError, match="do not reach the engine"):
        sampler.generate(REQUEST, seed=0, step=1)


@pytest.mark.parametrize("kind", [Twin, Noisy])
@pytest.mark.parametrize("make", [tiny_policy, lora_policy])
@pytest.mark.parametrize("size", [1e-7, 1e-2, 0.3])
def test_weights_that_arrive_raise_no_alarm(tmp_path: Path, make: Any, kind: Any, size: float) -> None:
    sampler = sampler_over(kind, make(), tmp_path)
    for _ in range(4):
        step(sampler.policy, size)
        sampler.follow()
    assert sampler.version == 4


def test_steps_too_small_to_be_seen_add_up(tmp_path: Path) -> None:
    sampler = sampler_over(DeafAndNoisy, tiny_policy(), tmp_path)
    told = None
    for number in range(40):
        step(sampler.policy, 1e-3)
        try:
            sampler.follow()
        except HarnessError as error:
            told = (number, str(error))
            break
    assert told is not None
    assert told[0] > 2
    assert "do not reach the engine" in told[1]
