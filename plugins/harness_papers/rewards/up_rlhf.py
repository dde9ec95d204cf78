"""UP-RLHF: the disagreement of a diverse ensemble is subtracted from its mean."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from harness import Trained, hookimpl, method
from harness.errors import PluginError
from harness_papers.reward_columns import in_place, verdict
from harness_papers.rewards.heads import EndHead, seen_by

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


class DiverseHeads(EndHead):
    """Scores [N, members], and in one more column the nuclear norm of the members' weights."""

    def forward(self, batch: Batch, hidden: Tensor) -> Tensor:
        """[N, members + 1]."""
        scores = super().forward(batch, hidden)
        diversity = torch.linalg.matrix_norm(self.linear.weight, "nuc")
        return torch.cat([scores, diversity.expand(len(scores), 1)], 1)


@method(name="up-rlhf", paper="2401.00243", base="grpo(beta=0)", needs={"hidden"}, experimental=True)
class UPRLHF:
    """Where the reward models of an ensemble disagree, the reward falls; they are trained to differ in their weights.

    R_i = mean_m r_im - lam std_m(r_im), std over M, in place of the task's columns; the members' loss is that of their
    verdicts less `diversity` times the nuclear norm of their stacked weights.

    The paper's members are low-rank adapters of one language model, and it adds a KL penalty (`kl-in-reward` does).
    Here they are linear heads on the policy's state at the end of a completion, each with a `share` of the completions,
    that learn the verdict, in [0, 1], with head_lr, of every step's completions after these were rewarded. warmup:
    steps with the task's own reward. lam, members and diversity are ours. `reward-ensemble` subtracts the variance.
    Edge cases: one member has no disagreement.
    Source: arXiv 2401.00243, the abstract. Confidence: abstract (reconstructed); the ensemble is ours.
    """

    members: int = 4
    lam: float = 1.0
    diversity: float = 0.01
    share: float = 0.7
    head_lr: float = 1e-3
    warmup: int = 0

    @hookimpl
    def build(self, policy: Any, state: Any) -> Mapping[str, Trained]:
        """The members."""
        head = DiverseHeads(policy.model.config.hidden_size, self.members, state.generator)
        return {"diverse": Trained(head, lr=self.head_lr)}

    @hookimpl
    def annotate(self, batch: Batch, policy: Any) -> Mapping[str, Tensor]:
        """What every member thinks of a completion."""
        return {"diverse": policy.evaluate(batch).modules["diverse"].detach()[:, :-1].sigmoid()}

    @hookimpl(wrapper=True)
    def shape_rewards(self, state: Any) -> Generator[None, Batch, Batch]:
        """Mean less disagreement."""
        batch = yield
        if state.step < self.warmup:
            return batch
        scores = batch.extras.get("diverse")
        if scores is None:
            msg = "up-rlhf needs batch.extras['diverse'], the members' scores [N, M], which annotate gives"
            raise PluginError(msg)
        reward = scores.mean(1) - self.lam * scores.std(1, correction=0)
        return in_place(batch, "certain_reward", reward.to(batch.rewards.dtype))

    @hookimpl
    def regularize(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The members' errors, each on its share, less their diversity."""
        found = output.modules["diverse"]
        logits, seen = found[:, :-1], seen_by(batch, self.members, self.share).to(found.dtype)
        target = verdict(batch).to(found.dtype)[:, None].expand_as(logits)
        errors = seen * nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
        return errors.sum() / seen.sum().clamp_min(1) - self.diversity * found[:, -1].sum() / max(len(found), 1)
