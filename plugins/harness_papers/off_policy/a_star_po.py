"""A*-PO: the optimal value is estimated once, from the reference; then least squares on single completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Groups, hookimpl, method
from harness.mathematics import log_mean_exp
from harness_papers.whole_groups import completion_log_ratio, counted

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="a-star-po", paper="2505.20686", needs={"reference"})
class AStarPO:
    """A prompt's optimal value comes from completions of the reference, taken ahead; training fits one a prompt to it.

    Ahead: V_q = beta_value ln mean exp(R / beta_value) over `ahead` completions of the initial policy, for `prompts`
    prompts, on which training then stays.  L = mean over completions of
    ( beta sum_t (logp - logp_ref) + V_q - R_i )^2.

    beta_value: 0 is the plain mean. beta: not the same, though theory has one. prompts: ours; the paper takes its whole
    training set. online: completions a prompt and step, 1 as published; as many more prompts are taken, as long as
    there are some. What is sampled ahead is charged.
    State: V_q by prompt. Edge cases: a prompt without V_q (another plugin chose it) gets that of its own group. Equal
    rewards and groups of one keep their distance to V_q.
    Source: arXiv 2505.20686 and the authors' code. Confidence: code.
    """

    beta: float = 1e-3
    beta_value: float = 0.5
    ahead: int = 8
    prompts: int = 64
    online: int = 1

    @hookimpl
    def start(self, run: Any) -> None:
        """Sample ahead, and keep the values."""
        self.values: dict[str, float] = {}
        if getattr(run, "pool", None) is None:
            return
        batch = run.rollout(run.pool.at_step(0, self.prompts), self.ahead)
        groups = Groups(batch.prompt)
        keys = [batch.prompts[row].key for row in groups.first.tolist()]
        self.values = dict(zip(keys, self.value(groups, batch.reward).tolist(), strict=True))

    def value(self, groups: Groups, reward: Tensor, who: Tensor | None = None) -> Tensor:
        """[number] the soft maximum of every group's rewards [M]."""
        if self.beta_value == 0:
            return groups.mean(reward, who, expand=False)
        return self.beta_value * log_mean_exp(groups, reward / self.beta_value, who)

    @hookimpl
    def select_prompts(self, pool: Any, count: int, state: Any) -> Sequence[str]:
        """The next of the prompts that have a value, in a circle."""
        keys = list(self.values)
        if not keys or state.round:
            return pool.at_step(state.step, count)
        wanted = min(len(keys), max(1, count * state.group_size // self.online))
        first = state.step * wanted
        return [keys[(first + place) % len(keys)] for place in range(wanted)]

    @hookimpl
    def allocate_rollouts(self, prompts: Sequence[str], state: Any) -> Sequence[Any]:
        """`online` completions of each."""
        return [state.request(prompt, self.online) for prompt in prompts]

    @hookimpl
    def annotate(self, batch: Batch) -> Mapping[str, Tensor]:
        """The value of every row's prompt, NaN where there is none."""
        ahead = [self.values.get(record.key, float("nan")) for record in batch.prompts]
        return {"value_ahead": torch.tensor(ahead, dtype=batch.rewards.dtype, device=batch.device)}

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The reward over the optimal value."""
        values = self.value(batch.groups, batch.reward, counted(batch))[batch.groups.index]
        known = batch.extras.get("value_ahead", torch.full_like(values, float("nan")))
        return batch.reward - torch.where(known.isnan(), values, known)

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The mean squared residual."""
        who = counted(batch)
        residual = self.beta * completion_log_ratio(batch, output, "reference") - batch.advantage
        return (residual.square() * who).sum() / who.sum().clamp_min(1)
