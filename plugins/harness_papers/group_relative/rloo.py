"""RLOO: REINFORCE with the mean of the siblings as the baseline."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import Groups, hookimpl, method, standardize
from harness.errors import PluginError
from harness.mathematics import (
    check_single,
    only_scored,
    ppo_clip_loss,
    sequence_log_ratio,
    sequence_sum_weights,
    with_singles,
)
from harness_papers.kl_reward import add_kl_reward

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(
    paper="2402.14740",
    needs=lambda m: {"reference"} if m.beta else set(),
    search={"beta": (1e-3, 0.3, "log")},
    scope=lambda m: "batch" if m.normalize or m.scale == "batch" else "group",
)
class RLOO:
    """Each completion is compared with the mean reward of its siblings.

    A_i = R_i - (1/(G-1)) sum_{j != i} R_j, with -beta sum_t (logp - logp_ref) inside R_i;
    token loss -A_i logp_{i,t};  L = (1/N) sum_i sum_t, so that a completion is one action.

    normalize: z-score over the batch afterwards, eps added to the std (TRL's option). scale: "group" or "batch" divides
    by the std of those rewards plus eps (ms-swift). clip: TRL's loss instead of the paper's, the PPO surrogate of the
    ratio of whole sequences, exp(sum_t log ratio), clipped at 1 - clip and 1 + clip_high (None: the same); None is the
    paper. single: "raw" lets a group of one keep its reward (verl's loop), "zero" gives it 0.
    Edge cases: equal rewards give 0; a group of one gives 0 (undefined in the paper).
    Source: arXiv 2402.14740; verl, TRL and OpenRLHF agree for G >= 2. Confidence: code.
    """

    beta: float = 0.03
    normalize: bool = False
    scale: str = "none"
    eps: float = 1e-4
    clip: float | None = None
    clip_high: float | None = None
    single: str = "zero"

    def __post_init__(self) -> None:
        """Refuse a choice that does not exist."""
        check_single(self.single, "rloo")
        if self.scale not in {"none", "group", "batch"}:
            msg = f"rloo(scale={self.scale!r}): choose 'none', 'group' or 'batch'"
            raise PluginError(msg)

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The KL penalty, token by token."""
        batch = yield
        return add_kl_reward(batch, self.beta) if self.beta else batch

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """R_i minus the mean of the others of its group."""
        reward = only_scored(batch.reward, batch.rewards)
        advantages = torch.nan_to_num(reward - batch.groups.leave_one_out_mean(reward))
        advantages = with_singles(advantages, reward, batch.groups, self.single)
        if self.scale != "none":
            groups = batch.groups if self.scale == "group" else Groups(batch.prompt * 0)
            advantages = advantages / (groups.std(reward) + self.eps)
        return standardize(advantages, eps=self.eps) if self.normalize else advantages

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """REINFORCE, or TRL's clipped surrogate spread over the row's tokens."""
        assert batch.advantages is not None
        if self.clip is None:
            return -batch.advantages * output.logp
        ratio = sequence_log_ratio(output.log_ratio, batch.mask, normalize=False).exp()
        high = self.clip if self.clip_high is None else self.clip_high
        loss = ppo_clip_loss(ratio, batch.advantage[:, None], self.clip, high)
        return loss / batch.mask.sum(-1, keepdim=True).clamp_min(1)

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Sum over tokens, mean over completions."""
        return sequence_sum_weights(batch.mask)
