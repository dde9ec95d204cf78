"""GDPO: every reward is normalised on its own before they are added."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from harness import Groups, hookimpl, method, standardize
from harness.mathematics import Single, leave_one_out_standardize, whiten, with_singles
from harness_papers.reward_columns import column

if TYPE_CHECKING:
    from harness import Batch


@method(paper="2601.05242", base="grpo(beta=0)")
class GDPO:
    """Standardise every reward within its group before combining them, then standardise over the batch.

    A_{i,k} = (r_{i,k} - mean_g(r_k)) / (std_g(r_k) + eps);  S_i = sum_k w_k A_{i,k};
    A_i = (S_i - mean_b(S)) / (std_b(S) + batch_eps), std over n - 1, over the completions of the step.

    batch_eps: by default eps. tokens: the last step over tokens instead, (S - mu) / sqrt(var + 1e-8) (the authors' verl
    fork and verl, with eps 1e-6; their TRL fork and TRL are the default). leave_one_out: the first step by mean and std
    of the others (NeMo's default). missing: "skip" leaves a missing reward (NaN) out of its column's statistics;
    "zero" reads it as a reward of 0 (the authors' TRL fork). single: a group of one keeps 0, or its raw rewards in the
    first step (verl). gate: the paper's conditioned rewards, every other column is 0 where the column `gate` is below
    `gate_at`.
    Edge cases: a column that is constant in a group adds 0 there; a row without any reward gets 0; a constant batch
    gives 0.
    Source: arXiv 2601.05242, the authors' forks; the gate from the paper alone. Confidence: code.
    """

    eps: float = 1e-4
    batch_eps: float | None = None
    tokens: bool = False
    leave_one_out: bool = False
    missing: Literal["skip", "zero"] = "skip"
    single: Single = "zero"
    gate: str = ""
    gate_at: float = 1.0

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """Easy rewards only where the hard one is reached."""
        batch = yield
        if not self.gate:
            return batch
        missed = column(batch, [self.gate], "gdpo(gate)") < self.gate_at  # False where it does not apply
        other = torch.tensor([name != self.gate for name in batch.reward_names], device=batch.device)
        return batch.replace(rewards=torch.where(missed[:, None] & other, 0 * batch.rewards, batch.rewards))

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Normalise, add, normalise."""
        rewards = batch.rewards.nan_to_num() if self.missing == "zero" else batch.rewards
        scale = leave_one_out_standardize if self.leave_one_out else Groups.standardize
        alone = rewards / (1 + self.eps)  # mean 0 and std 1, as verl has it
        columns = with_singles(scale(batch.groups, rewards, eps=self.eps), alone, batch.groups, self.single)
        combined = columns.nan_to_num() @ self.column_weights(batch)
        scored = ~rewards.isnan().all(-1)
        if self.tokens:
            return whiten(combined[:, None], batch.mask * scored[:, None])
        eps = self.eps if self.batch_eps is None else self.batch_eps
        return torch.where(scored, standardize(combined, scored, eps), torch.zeros_like(combined))

    def column_weights(self, batch: Batch) -> Tensor:
        """[K] what the normalised columns are weighted with; a variant has others."""
        return batch.reward_weights
