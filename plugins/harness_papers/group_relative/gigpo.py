"""GiGPO: groups of steps from the same state inside the group of the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import Groups, hookimpl, method
from harness.errors import PluginError
from harness.mathematics import Single, check_single, masked, with_singles

if TYPE_CHECKING:
    from harness import Batch

ODD = 6364136223846793005  # an odd multiplier: its powers tell positions apart in 64 bits


@method(name="gigpo", paper="2505.10978", base="grpo(beta=0.01)", scope="group", neutral={"weight": 0.0, "scale": True})
class GiGPO:
    """A second advantage compares what followed from the same state, besides that of the whole answers.

    A_{i,t} = A_i + weight S_{i,t};  A_i = R_i - mean_g(R);  S = G - mean over the steps of the group that start in the
    same state, G the return from the step on, discounted by gamma per step;  with `scale` both over their std (n - 1,
    + eps).

    In one turn a step is `step` tokens, and two steps start in the same state if their completions are the same up to
    there: what was said before a place is compared with nothing, what is said there with its alternatives. Where rows
    are steps of an environment, `extras` hold `trajectory`, `anchor` (the state's number) and `step_rewards` (the
    returns), and rewards are those of the trajectory, which counts once.
    scale: the paper allows both, its code has False. single: "raw" keeps the return of a group of one (the code).
    Edge cases: weight = 0 is GRPO; a state that comes once has S = 0; equal rewards give 0 where gamma is 1.
    Source: arXiv 2505.10978 and code of its lineage (steps inside a completion are ours). Confidence: code.
    """

    weight: float = 1.0
    gamma: float = 0.95
    step: int = 1
    scale: bool = False
    eps: float = 1e-6
    single: Single = "zero"

    def __post_init__(self) -> None:
        """Refuse values that do not exist."""
        check_single(self.single, "gigpo")
        if self.step < 1:
            msg = f"gigpo(step={self.step}): a step has at least one token"
            raise PluginError(msg)

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Of the answer, and of the step."""
        if "anchor" in batch.extras and "trajectory" in batch.extras:
            return self._rows(batch)
        whole = with_singles(self._normal(batch.groups, batch.reward), self._raw(batch), batch.groups, self.single)
        return masked(whole[:, None] + self.weight * self._steps(batch), batch.mask)

    def _normal(self, groups: Groups, x: Tensor, where: Tensor | None = None) -> Tensor:
        return groups.standardize(x, where, self.eps) if self.scale else groups.center(x, where)

    def _raw(self, batch: Batch) -> Tensor:
        """[N] the reward with mean 0 and std 1."""
        return batch.reward / (1 + self.eps) if self.scale else batch.reward

    def _steps(self, batch: Batch) -> Tensor:
        """[N, T] the advantage of every token's step over those from the same state."""
        if not batch.tokens:
            return batch.mask
        power = torch.full((batch.tokens,), ODD, device=batch.device).cumprod(0)
        said = torch.where(batch.mask > 0, (batch.completion_ids + 1) * power, 0)
        place = torch.arange(batch.tokens, device=batch.device) // self.step
        state = (said.cumsum(1) - said)[:, :: self.step]
        steps, runs = torch.arange(state.shape[1], device=batch.device), (batch.mask > 0)[:, :: self.step]
        last = runs.sum(1, keepdim=True) - 1
        gain = batch.reward[:, None] * self.gamma ** (last - steps).clamp_min(0)
        step = batch.groups.index[:, None] * len(steps) + steps
        same = Groups(torch.stack([step[runs], state[runs]], 1))
        found = torch.zeros_like(gain).masked_scatter(runs, self._normal(same, gain[runs]))
        return found[:, place]

    def _rows(self, batch: Batch) -> Tensor:
        """[N] the same where every row is a step of a trajectory."""
        index = batch.groups.index
        trajectories = Groups(torch.stack([index, batch.extras["trajectory"].long()], 1))
        first = torch.zeros_like(index, dtype=torch.bool).index_fill_(0, trajectories.first, True)
        whole = self._normal(batch.groups, batch.reward, first)
        if self.single == "raw":
            whole = torch.where(batch.groups.count(first) == 1, self._raw(batch), whole)
        same = Groups(torch.stack([index, batch.extras["anchor"].long()], 1))
        gain = batch.extras.get("step_rewards", batch.reward).to(whole.dtype)
        return whole + self.weight * self._normal(same, gain)
