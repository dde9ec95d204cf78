"""SWAP: what a completion is too long by is charged to the steps that do least for the answer."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness_papers.step_values import answer_values, first_of_step, step_ends, step_numbers

if TYPE_CHECKING:
    from harness import Batch


@method(name="swap", paper="2603.00296", base="grpo(beta=0)", scope="group", experimental=True, neutral={"lam": 0.0})
class SWAP:
    """The excess length of a right answer is a fixed penalty, most of it on steps that do not make the answer likelier.

    V_k = mean logp of the reference answer after steps 1..k and `cue`, I_k = V_k - V_{k-1};
    share_k = softmax_k(-I_k / tau);  E_i = max(0, T_i - T) / T, T the mean length of the group's right answers;
    A_it <- A_i - lam E_i share_k(t) for right completions, on top of any advantage.

    A token with a character of `boundary` ends a step. The K + 1 passes over every right completion are charged. The
    formulas are reconstructed; tau and lam are ours.
    Edge cases: one step bears all; no right completion, or a task whose answer is no text or number, leaves the base;
    in an all-right group the longer ones lose; a group of one has no excess.
    Source: arXiv 2603.00296, the abstract. Confidence: abstract (reconstructed).
    """

    lam: float = 0.5
    tau: float = 1.0
    cue: str = "#"
    boundary: str = ";\n"

    @hookimpl
    def annotate(self, batch: Batch, policy: Any, state: Any) -> Mapping[str, Tensor]:
        """Steps, and the answer's log-probability around each."""
        step = step_numbers(batch, step_ends(policy, self.boundary))
        where = batch.correct if self.lam else torch.zeros_like(batch.correct)
        return {"step": step, **answer_values(batch, policy, state.pool, step, self.cue, mean=True, where=where)}

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch: Batch) -> Generator[None, Tensor, Tensor]:
        """Less each token's share of the excess."""
        advantages = yield
        if not self.lam:
            return advantages
        if "step" not in batch.extras or "value_after" not in batch.extras:
            msg = "swap needs batch.extras['step'], ['value_before'] and ['value_after'], which annotate gives"
            raise PluginError(msg)
        lengths = batch.lengths.to(batch.rewards.dtype)
        usual = batch.groups.mean(lengths, batch.correct)
        excess = (lengths - usual).clamp_min(0) / usual.clamp_min(1) * batch.correct
        penalty = self.lam * excess[:, None] * self.shares(batch)
        return advantages.reshape(len(batch), -1) - penalty.to(advantages.dtype)

    def shares(self, batch: Batch) -> Tensor:
        """[N, T] what part of the penalty the token's step bears; 0 where nothing is known."""
        gain = batch.extras["value_after"] - batch.extras["value_before"]
        known = ~gain.isnan()
        begins = first_of_step(batch, batch.extras["step"]) & known
        score = -gain.nan_to_num() / self.tau
        top = torch.where(begins, score, -torch.inf).amax(1, keepdim=True) if batch.tokens else score
        heavy = torch.where(known, (score - torch.where(top.isfinite(), top, 0)).exp(), 0)
        total = (heavy * begins).sum(1, keepdim=True)
        return heavy / torch.where(total > 0, total, 1)
