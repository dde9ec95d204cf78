"""TMN-Reweight: one scale per task, and a weight by difficulty."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import Groups, hookimpl, method
from harness.mathematics import token_mean_weights

if TYPE_CHECKING:
    from harness import Batch


@method(name="tmn-reweight", paper="2605.19577", base="grpo(beta=0, clip_high=0.28)")
class TMNReweight:
    """Rewards are centred per prompt and scaled per task; then right answers to hard prompts count more.

    d_i = R_i - mean_g(R);  A_i = d_i / (scale + eps), scale = sqrt(mean over the task's prompts of var_g) (n - 1);
    m = mix mean_g(R) + (1 - mix) mean over the task's prompts of mean_g;  p = share of the group with R > m;
    A_i *= exp(strength (1/2 - p)) where R_i > mean_g(R), else exp(strength (p - 1/2)).

    The task is that of the prompt. mix: 0.8 in scripts and README (0.5 in the function).
    Edge cases: strength = 0 does not reweight; a task whose groups have no spread gives 0; groups of one give 0 and
    have no part in the scale; easy prompts weigh more where the answer is wrong (code; the README says less).
    Source: arXiv 2605.19577 and the authors' code (GoLongRL). Confidence: code.
    """

    mix: float = 0.8
    strength: float = 1.0
    eps: float = 1e-6

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Centred, scaled by task, reweighted."""
        groups, reward, tasks = batch.groups, batch.reward, self._tasks(batch)
        size, means = groups.count(expand=False), groups.mean(reward, expand=False)
        apart = reward - means.index_select(0, groups.index)
        variance = groups.sum(apart.square(), expand=False) / (size - 1).clamp_min(1)
        spread = tasks.mean(variance, size > 1).sqrt().index_select(0, groups.index)
        scaled = torch.where(
            spread > 0, apart / torch.where(spread > 0, spread + self.eps, 1.0), torch.zeros_like(apart)
        )
        level = (self.mix * means + (1 - self.mix) * tasks.mean(means)).index_select(0, groups.index)
        rate = groups.count(reward > level) / groups.count()
        return scaled * (self.strength * torch.where(apart > 0, 0.5 - rate, rate - 0.5)).exp()

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same."""
        return token_mean_weights(batch.mask)

    def _tasks(self, batch: Batch) -> Groups:
        """The groups of the batch by task, a member each."""
        prompts = map(batch.prompts.__getitem__, batch.groups.first.tolist())
        names = list(map(operator.attrgetter("task"), prompts))
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        return Groups(torch.tensor(list(map(numbers.__getitem__, names)), dtype=torch.long, device=batch.device))
