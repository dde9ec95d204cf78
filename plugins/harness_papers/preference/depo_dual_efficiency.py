"""DEPO: KTO with a bonus for good completions of few steps and short steps."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method
from harness_papers.reward_columns import verdict
from harness_papers.step_values import first_of_step, step_ends, step_numbers
from harness_papers.whole_groups import completion_log_ratio, counted

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


def steps_of(batch: Batch, policy: Any, boundary: str) -> Mapping[str, Tensor]:
    """The extra `steps` [N]: how many steps a completion has; 0 for an empty one."""
    begins = first_of_step(batch, step_numbers(batch, step_ends(policy, boundary)))
    return {"steps": begins.sum(1)}


def efficiency(batch: Batch, per_token: float, per_step: float) -> Tensor:
    """[N] per_token / (mean tokens of a step) + per_step / steps; 0 for an empty completion, one step if not known."""
    lengths = batch.lengths.to(batch.rewards.dtype)
    steps = batch.extras.get("steps", (batch.lengths > 0).long()).to(lengths.dtype)
    there = (steps > 0) & (lengths > 0)
    bonus = per_token * steps / lengths.clamp_min(1) + per_step / steps.clamp_min(1)
    return torch.where(there, bonus, 0)


@method(
    name="depo-dual-efficiency",
    paper="2511.15392",
    needs={"reference"},
    neutral={"per_token": 0.0, "per_step": 0.0, "most_steps": 0},
    neutral_to="kto(balance=False, beta=0.2)",
)
class DEPO:
    """KTO in which a good completion of few and short steps counts as better off already, by a bonus.

    u_i = sum_t (logp - logp_ref) + b_i, b_i = per_token / (mean tokens of a step) + per_step / steps for good ones, 0
    for bad ones;  z = sg[max(mean D, 0)] of D = sum_t (logp - logp_ref), over the minibatch;
    L = mean of desired (1 - sigmoid(beta (u - z))) for good and undesired (1 - sigmoid(beta (z - u))) for bad ones.

    Good are right completions of fewer than `most_steps` steps (0: any). b has no gradient: it shifts the sigmoid, so
    that an efficient completion is pushed less once u > z. per_token, per_step: 3 for Llama, 2 for Qwen in the paper.
    A token with a character of `boundary` ends a step. The paper trains offline on trajectories of agents; here on the
    step's own completions.
    Edge cases: an empty completion has no bonus; both bonuses 0 is KTO without balanced weights.
    Source: arXiv 2511.15392 by way of notes with its equations. Confidence: secondary.
    """

    beta: float = 0.2
    desired: float = 1.0
    undesired: float = 1.0
    per_token: float = 3.0
    per_step: float = 3.0
    most_steps: int = 7
    boundary: str = ";\n"

    @hookimpl
    def annotate(self, batch: Batch, policy: Any) -> Mapping[str, Tensor]:
        """How many steps a completion has."""
        return steps_of(batch, policy, self.boundary)

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """Minus the value."""
        drift = completion_log_ratio(batch, output, "reference")
        number = counted(batch).to(drift.dtype)
        good = self.good(batch)
        point = ((drift.detach() * number).sum() / number.sum().clamp_min(1)).clamp_min(0)
        worth = drift + efficiency(batch, self.per_token, self.per_step).to(drift.dtype) * good
        gain = torch.where(good, worth - point, point - worth)
        value = torch.where(good, self.desired, self.undesired) * (1 - (self.beta * gain).sigmoid())
        return (value * number).sum() / number.sum().clamp_min(1)

    def good(self, batch: Batch) -> Tensor:
        """[N] bool: right, and of few enough steps."""
        steps = batch.extras.get("steps")
        return batch.correct if steps is None or not self.most_steps else batch.correct & (steps < self.most_steps)


@method(
    name="depo-bonus", paper="2511.15392", base="grpo(beta=0)", experimental=True, scope="group", neutral={"kappa": 0.0}
)
class DEPOBonus:
    """DEPO's bonus as a reward: right completions earn more the fewer and the shorter their steps are.

    R_i <- R_i + kappa c_i b_i, b_i = per_token / (mean tokens of a step) + per_step / steps, c the verdict.

    An online form of the paper's bonus, and ours; `depo-dual-efficiency` is the paper's. A token with a character of
    `boundary` ends a step.
    Edge cases: an empty completion has no bonus.
    Source: arXiv 2511.15392 (the bonus). Confidence: secondary; the form is ours.
    """

    kappa: float = 0.1
    per_token: float = 3.0
    per_step: float = 3.0
    boundary: str = ";\n"

    @hookimpl
    def annotate(self, batch: Batch, policy: Any) -> Mapping[str, Tensor]:
        """How many steps a completion has."""
        return steps_of(batch, policy, self.boundary)

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The bonus as a column."""
        batch = yield
        if not self.kappa:
            return batch
        bonus = verdict(batch) * efficiency(batch, self.per_token, self.per_step)
        return batch.add_reward("efficiency", bonus, self.kappa)
