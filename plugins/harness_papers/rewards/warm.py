"""WARM: the weights of several reward models are averaged, not their predictions."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from harness import Trained, hookimpl, method
from harness.errors import PluginError
from harness_papers.reward_columns import in_place, verdict
from harness_papers.rewards.heads import end_state, seen_by

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


class AveragedHeads(nn.Module):
    """Networks of one hidden layer that start from the same weights: scores [N, members], then that of their mean."""

    def __init__(self, width: int, members: int, inner: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        first = torch.randn(width, inner, generator=generator) / width**0.5
        second = torch.randn(inner, generator=generator) / inner**0.5
        self.first = nn.Parameter(first.repeat(members, 1, 1))
        self.second = nn.Parameter(second.repeat(members, 1))
        self.shift = nn.Parameter(torch.zeros(members, inner))
        self.bias = nn.Parameter(torch.zeros(members))

    def forward(self, batch: Batch, hidden: Tensor) -> Tensor:
        """[N, members + 1]: the members, and the one network with the mean of their weights."""
        x = end_state(batch, hidden).to(self.first.dtype)
        parts = (self.first, self.shift, self.second, self.bias)
        first, shift, second, bias = (torch.cat([part, part.detach().mean(0, keepdim=True)]) for part in parts)
        inner = (torch.einsum("nd,mdh->nmh", x, first) + shift).tanh()
        return (inner * second).sum(-1) + bias


@method(name="warm", paper="2401.12187", base="grpo(beta=0)", needs={"hidden"}, experimental=True)
class WARM:
    """The reward is that of one model, whose weights are the mean of several trained from one start on different data.

    R_i = sigmoid(f(o_i; mean_m phi_m)), in place of the task's columns. of: "predictions" is the baseline of the paper,
    mean_m f(o_i; phi_m) before the sigmoid.

    The paper's models are fine-tuned language models. Here they are networks of one hidden layer of `inner` units on
    the policy's state at the end of a completion, with the same first weights; each sees a `share` of the completions,
    by a hash of their tokens, and learns the verdict, with head_lr, of every step's completions after these were
    rewarded. warmup: steps with the task's own reward. members: from memory of the paper.
    Edge cases: members that are equal, or one member, are their mean.
    Source: arXiv 2401.12187, the abstract. Confidence: abstract; the models are ours.
    """

    members: int = 6
    of: Literal["weights", "predictions"] = "weights"
    inner: int = 16
    share: float = 0.5
    head_lr: float = 1e-3
    warmup: int = 0

    @hookimpl
    def build(self, policy: Any, state: Any) -> Mapping[str, Trained]:
        """The models, as one module."""
        heads = AveragedHeads(policy.model.config.hidden_size, self.members, self.inner, state.generator)
        return {"averaged": Trained(heads, lr=self.head_lr)}

    @hookimpl
    def annotate(self, batch: Batch, policy: Any) -> Mapping[str, Tensor]:
        """What the models, and their mean, think of a completion."""
        return {"averaged": policy.evaluate(batch).modules["averaged"].detach()}

    @hookimpl(wrapper=True)
    def shape_rewards(self, state: Any) -> Generator[None, Batch, Batch]:
        """The mean model's reward."""
        batch = yield
        if state.step < self.warmup:
            return batch
        scores = batch.extras.get("averaged")
        if scores is None:
            msg = "warm needs batch.extras['averaged'], scores [N, M + 1], the mean model's last, which annotate gives"
            raise PluginError(msg)
        reward = scores[:, -1] if self.of == "weights" else scores[:, :-1].mean(1)
        return in_place(batch, "averaged_reward", reward.sigmoid().to(batch.rewards.dtype))

    @hookimpl
    def regularize(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The models' own loss, on the completions that each of them sees."""
        logits = output.modules["averaged"][:, :-1]
        mine = seen_by(batch, self.members, self.share).to(logits.dtype)
        truth = verdict(batch).to(logits.dtype)[:, None]
        # ln(1 + exp(x)) - x truth is the cross-entropy of a logit x.
        return ((nn.functional.softplus(logits) - logits * truth) * mine).sum() / mine.sum().clamp_min(1)
