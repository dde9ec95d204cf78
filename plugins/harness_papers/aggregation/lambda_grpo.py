"""lambda-GRPO: a learned preference for long or short completions."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from harness import Trained, hookimpl, method
from harness.mathematics import token_mean_weights

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

NAME = "length_preference"
LEAST = 1e-6  # h_i stays positive however long a completion is


class Preference(nn.Module):
    """One number, the same for every completion."""

    def __init__(self, initial: float) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.tensor(float(initial)))

    def forward(self, batch: Batch, hidden: Tensor) -> Tensor:  # noqa: ARG002 - the learner's call
        """[N] the exponent."""
        return self.value.expand(len(batch))


@method(
    name="lambda-grpo", paper="2510.06870", base="grpo(beta=0)", experimental=True,
    neutral={"initial": 0.0, "learn": False}, neutral_to="grpo(beta=0)+token-mean",
)  # fmt: skip
class LambdaGRPO:
    """A learned exponent says how much a completion weighs by its length within the group.

    z_i = (T_i - mean_g T) / (std_g T + eps);  h_i = 1 + spread z_i;  f_i = G softmax_g(h_i^lambda);
    L = sum_i f_i sum_t l_{i,t} / number of tokens. The same loss trains lambda, a parameter of its own.

    initial, spread: from memory of the paper, not verified; lr: lambda's learning rate, by default the policy's. The
    token divisor is that of DAPO over the minibatch. learn: False fixes lambda.
    State: lambda, kept with the weights.
    Edge cases: lambda = 0, equal lengths and groups of one give f = 1, a token mean; completions that leave the loss
    have no part in the softmax.
    Source: arXiv 2510.06870 by way of summaries; divisor, std and constants reconstructed. Confidence: secondary.
    """

    initial: float = 1.0
    spread: float = 1 / 9
    eps: float = 1e-6
    lr: float | None = None
    learn: bool = True

    @hookimpl
    def build(self) -> Mapping[str, Trained]:
        """The exponent."""
        return {NAME: Trained(Preference(self.initial), lr=self.lr)} if self.learn else {}

    @hookimpl(wrapper=True)
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Generator[None, Tensor, Tensor]:
        """The losses below, weighted by the completion's share of its group."""
        losses = yield
        exponent = output.modules.get(NAME)
        if exponent is None:
            exponent = torch.full_like(losses[:, 0], self.initial)
        groups, counted = batch.groups, batch.trains
        lengths = batch.mask.sum(-1)
        height = 1 + self.spread * groups.standardize(lengths, counted, eps=self.eps)
        power = (exponent * height.clamp_min(LEAST).log()).exp()
        # Rows that left have weight 0, by selection: a group that left as a whole has no sum to divide by.
        apart = torch.where(counted, power - groups.logsumexp(power, counted), torch.zeros_like(power))
        share = groups.count(counted) * apart.exp()
        return losses * torch.where(counted, share, torch.zeros_like(share))[:, None]

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same but for that share."""
        return token_mean_weights(batch.mask)
