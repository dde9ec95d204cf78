"""Before a trial: an engine must give the log-probabilities that it draws with, and those of this policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from harness.engines.base import Engine, Job
from harness.errors import HarnessError
from harness.policies.padding import length_mask, pad_right

if TYPE_CHECKING:
    from harness.policies.policy import Policy

__all__ = ["check_agreement"]

TEMPERATURE = 2.0  # far from 1, so that log-probabilities before and after it differ
COMPLETIONS, TOKENS = 8, 8
NEAR, FAR = 0.1, 1.0  # nats a token: bfloat16 differs by less than the one, other weights by more than the other


def check_agreement(policy: Policy, engine: Engine) -> None:
    """A few tokens at temperature 2, scored by the policy. HarnessError where the engine means something else."""
    context = tuple(policy.encode_prompt("1 + 1 ="))
    jobs = [Job(context, TOKENS, TEMPERATURE, greedy=False, seed=number) for number in range(COMPLETIONS)]
    answers = engine.write(jobs, policy.stop_ids)
    lengths = torch.tensor([len(answer.ids) for answer in answers])
    said = pad_right([answer.logp for answer in answers], 0.0, torch.float64)
    on = length_mask(lengths, said.shape[1])

    def gap(temperature: float) -> float:
        scored = policy.score([context] * len(jobs), [answer.ids for answer in answers], temperature=temperature)
        return float((scored.cpu().to(said.dtype) - said).abs()[on].mean())

    after, before = gap(TEMPERATURE), gap(1.0)
    if after > NEAR and before < after:
        raise HarnessError(
            "the engine gives log-probabilities before temperature, not those of the distribution it draws from; "
            "start the server with --logprobs-mode processed_logprobs"
        )
    if not after < FAR:
        raise HarnessError(
            f"the engine's log-probabilities lie {after:.2f} nats a token from the policy's; "
            "does it serve the same model, and can it read the weights' directory?"
        )
