"""What the tiny policy is asked in a conformance check, and how a tiny trial of it is set up."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from harness.policies.policy import Policy
from harness.policies.random import tiny_policy
from harness.tasks.base import Columns, Problem, Split, Task, stable_hash
from harness.tasks.mixture import Mixture
from harness.training.config import (
    BudgetConfig,
    LearnerConfig,
    OptimizerConfig,
    PolicyConfig,
    SamplingConfig,
    TrialConfig,
)
from harness.training.setup import Trial, make

if TYPE_CHECKING:
    from harness.host import Catalogue

__all__ = ["GROUP", "PROMPTS", "TOKENS", "Coins", "tiny_trial"]

PROMPTS, GROUP, TOKENS, POOL = 4, 4, 6, 40
CHARACTERS = "0123456789+="


class Coins(Task):
    """Every text is right or wrong by a coin of its own, and has a quality: nothing to learn, everything to compute."""

    name = "probe"
    columns = ("correct", "quality")
    correct_column = "correct"
    max_tokens = TOKENS
    reward_weights: Mapping[str, float] = {"correct": 1.0, "quality": 0.3}

    def __init__(self, *, hopeless: bool = False) -> None:
        """hopeless: every text is wrong, and equally so."""
        self.hopeless = hopeless

    def problems(self, split: Split, limit: int | None = None) -> Sequence[Problem]:  # noqa: ARG002 - one for all
        """Questions with a one-digit answer."""
        return [Problem(f"probe:{i}", f"{i}=", "probe", str(i % 10)) for i in range(POOL)][:limit]

    def score_texts(
        self, problems: Sequence[Problem], texts: Sequence[str], truncated: Sequence[bool], *, sandbox: Any = None
    ) -> Columns:
        """A coin and a number in [0, 1), functions of problem and text."""
        del truncated, sandbox
        found = [stable_hash(f"{problem.key}|{text}") for problem, text in zip(problems, texts, strict=True)]
        if self.hopeless:
            return {"correct": np.zeros(len(found)), "quality": np.full(len(found), 0.25)}
        return {
            "correct": np.array([number % 2 for number in found], dtype=float),
            "quality": np.array([number // 2 % 1000 / 1000 for number in found], dtype=float),
        }


@functools.lru_cache(maxsize=4)
def _weights(seed: int) -> Policy:
    """A policy of width 16, scaled up so that completions end, differ and move."""
    policy = tiny_policy(seed=seed, width=16, intermediate=32, characters=CHARACTERS)
    with torch.no_grad():
        for name, parameter in policy.model.named_parameters():
            if "norm" not in name:
                parameter.mul_(3.0)
    return policy


@functools.lru_cache(maxsize=8)
def _mixture(seed: int, *, hopeless: bool) -> Mixture:
    return Mixture([(Coins(hopeless=hopeless), 1.0)], seed=seed)


def tiny_trial(
    stack: str,
    catalogue: Catalogue,
    *,
    seed: int = 0,
    dtype: str = "float64",
    micro_batch: int = 64,
    hopeless: bool = False,
    prompts: int = PROMPTS,
) -> Trial:
    """A trial that has started: 4 prompts, groups of 4, 6 tokens, 2 minibatches, a random policy of width 16."""
    weights = _weights(seed)
    policy = Policy(copy.deepcopy(weights.model), weights.tokenizer, precision=dtype)
    config = TrialConfig(
        suite="conformance",
        method=stack,
        seed=seed,
        policy=PolicyConfig(model="random", dtype=dtype),
        sampling=SamplingConfig(prompts=prompts, group_size=GROUP, max_tokens=TOKENS, max_rounds=3),
        learner=LearnerConfig(minibatches=2, micro_batch=micro_batch),
        optimizer=OptimizerConfig(lr=1e-3),
        budget=BudgetConfig(compute=1e12),
    )
    return make(config, _mixture(seed, hopeless=hopeless), None, catalogue, policy)
