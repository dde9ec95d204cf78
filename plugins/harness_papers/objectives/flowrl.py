"""FlowRL: match the distribution of rewards instead of maximising them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from harness import Trained, hookimpl, method
from harness.mathematics import importance_weights
from harness_papers.whole_groups import anchor_of, counted

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


class LogPartition(nn.Module):
    """ln Z of a prompt: a small network on the policy's state after the prompt; it sends it no gradient."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        parts: list[nn.Module] = []
        for _ in range(layers - 1):
            parts += [nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width)]
        self.net = nn.Sequential(*parts, nn.Linear(width, 1))

    def forward(self, batch: Batch, hidden: Tensor) -> Tensor:
        """[N] from hidden [N, T, D], whose first state is the one after the prompt."""
        if not hidden.shape[1]:
            return batch.mask.new_zeros(len(batch))
        first = hidden[:, 0].detach()
        return self.net(first.to(next(self.net.parameters()).dtype))[:, 0]


@method(name="flowrl", paper="2509.15207", base="grpo(beta=0)", needs={"hidden", "reference"})
class FlowRL:
    """The policy is fitted to the reference tilted by the reward, with a learnt partition function per prompt.

    res_i = ln Z(q) + mean_t logp - beta A_i - mean_t logp_ref, with GRPO's advantage A;
    w_i = sg[min(exp(sum_t (logp - logp_old)), cap)];  L = mean over completions of w_i res_i^2.

    ln Z is `layers` linear layers on the policy's state at the prompt's last token (the authors: the mean over the
    prompt), with an optimizer of its own (`head_lr`). cap: 10 in verl's recipe; None is what the authors' code does
    (it computes a clipped weight and then uses the unclipped one). The weight has the sum over the completion, not
    the mean. eps: added to the length in the means, 1e-8 in both codes.
    Edge cases: equal rewards draw the policy to the reference and ln Z to 0; completions without tokens are left out.
    Source: arXiv 2509.15207, the authors' code, verl's recipe. Confidence: code.
    """

    beta: float = 15.0
    cap: float | None = 10.0
    layers: int = 3
    head_lr: float = 1e-3
    eps: float = 0.0

    @hookimpl
    def build(self, policy: Any) -> Mapping[str, Trained]:
        """The network of ln Z."""
        return {"log_z": Trained(LogPartition(policy.model.config.hidden_size, self.layers), lr=self.head_lr)}

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The weighted squared residual."""
        assert batch.advantages is not None
        who = counted(batch) & (batch.mask > 0).any(-1)
        gap = output.logp - anchor_of(batch, output, "reference") - self.beta * batch.advantages
        length = batch.mask.sum(-1).clamp_min(1) + self.eps
        residual = output.modules["log_z"].to(output.logp.dtype) + batch.sequence_sum(gap) / length
        weight = importance_weights(output.log_ratio.detach(), batch.mask, "sequence")[:, 0]
        weight = weight if self.cap is None else weight.clamp_max(self.cap)
        return torch.where(who, weight * residual.square(), torch.zeros_like(residual)).sum() / who.sum().clamp_min(1)
