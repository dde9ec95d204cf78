"""OmniQuality-R: near misses of a number are graded, flat groups leave, and only uncertain tokens train."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from numbers import Rational
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.tasks.answers import find_answer, number
from harness_papers.entropy.monitor import token_entropy
from harness_papers.reward_columns import in_place

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="omniquality-r", paper="2510.10609", base="grpo(beta=0)", needs={"entropy"}, experimental=True)
class OmniQualityR:
    """A Gaussian of the error is the reward, groups without spread leave, and only uncertain tokens train.

    R_i = exp(-(y_hat - y)^2 / (2 (sigma S)^2)), S the range of the answers of the pool, in place of the task's columns;
    a group stays iff std_g(R) >= spread, std over n - 1;  a token's loss counts iff its entropy is at least the
    (1 - share) quantile of the minibatch.

    The paper grades images; here the number is the one that the completion answers, 0 without one or if it is cut off.
    Rows of tasks without numeric answers keep their reward. Numbers and both filters are reconstructed. spread 0 and
    share 1 switch them off.
    State: S.
    Edge cases: a step without spread trains on nothing; groups of one stay; equal entropies keep every token.
    Source: arXiv 2510.10609, the abstract. Confidence: abstract (reconstructed).
    """

    sigma: float = 0.1
    spread: float = 0.01
    share: float = 0.5

    @hookimpl
    def start(self, state: Any) -> None:
        """The range of the answers."""
        pool = state.pool
        known = [] if pool is None else [_exact(pool.problem(key).answer) for key in pool.keys]
        numbers = [x for x in known if x is not None]
        self.range = max(numbers) - min(numbers) if len(set(numbers)) > 1 else 1.0

    @hookimpl
    def score(self, rollouts: Any, task: Any) -> Mapping[str, Tensor]:
        """The column `graded`."""
        answers = [_exact(task.problem(request.key).answer) for request in rollouts.requests]
        found = [
            math.nan if answers[place] is None else self.graded(answers[place], None if cut else find_answer(text))
            for place, text, cut in zip(
                rollouts.index.tolist(), rollouts.texts, rollouts.truncated.tolist(), strict=True
            )
        ]
        return {"graded": rollouts.logp.new_tensor(found)}

    def graded(self, gold: float, said: Any) -> float:
        """The reward of one answer."""
        return 0.0 if said is None else math.exp(-(((float(said) - gold) / (self.sigma * self.range)) ** 2) / 2)

    @hookimpl
    def keep(self, batch: Batch) -> Tensor:
        """Groups whose rewards differ."""
        reward = self._reward(batch)
        return (batch.groups.std(reward) >= self.spread) | (batch.groups.count() == 1)

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The graded answer where it is a number."""
        batch = yield
        return in_place(batch, "gaussian", self._reward(batch))

    @hookimpl(wrapper=True)
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Generator[None, Tensor, Tensor]:
        """The losses below, 0 at tokens that the policy is sure of."""
        losses = yield
        entropy, counted = token_entropy("omniquality-r", output).detach(), batch.mask > 0
        if self.share >= 1 or not counted.any():
            return losses
        unsure = entropy >= entropy[counted].quantile(1 - self.share)
        return losses * unsure

    @staticmethod
    def _reward(batch: Batch) -> Tensor:
        if "graded" not in batch.reward_names:
            return batch.reward
        column = batch.reward_names.index("graded")
        graded = batch.rewards[:, column]
        rest = batch.reward - batch.reward_weights[column] * graded.nan_to_num()
        return torch.where(graded.isnan(), rest, graded)


def _exact(answer: Any) -> float | None:
    """A numeric answer; None for any other."""
    value = number(answer) if isinstance(answer, str) else answer
    return float(value) if isinstance(value, Rational) else None
