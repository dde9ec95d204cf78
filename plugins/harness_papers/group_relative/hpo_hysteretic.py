"""HPO: negative advantages count less while successes are rare."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import token_mean_weights

if TYPE_CHECKING:
    from harness import Batch


@method(
    name="hpo-hysteretic", paper="2605.30201", base="grpo(beta=0)", scope="group",
    neutral={"alpha": 1.0}, neutral_to="grpo(beta=0)+token-mean",
)  # fmt: skip
class HPOHysteretic:
    """Negative advantages are multiplied by a factor below 1, and the loss is divided by the mean length.

    A_i <- alpha A_i where A_i < 0;  L = (1/N) sum_i (1 / mean length) sum_t, which is the mean over all tokens.

    alpha: about 0.6 was best in the paper's ablation; 0 trains on successes only, and lengths collapsed.
    Edge cases: alpha = 1 is the base with a token mean; the mean length is the minibatch's (the paper's scope is not
    confirmed).
    Source: arXiv 2605.30201, by way of a summary of the full text. Confidence: secondary.
    """

    alpha: float = 0.6

    def __post_init__(self) -> None:
        """Refuse a factor that turns signs."""
        if not 0 <= self.alpha <= 1:
            msg = f"hpo-hysteretic(alpha={self.alpha}): choose a factor from 0 to 1"
            raise PluginError(msg)

    @hookimpl(wrapper=True)
    def estimate_advantages(self) -> Generator[None, Tensor, Tensor]:
        """The advantages below, negative ones damped."""
        advantages = yield
        return torch.where(advantages < 0, self.alpha * advantages, advantages)

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same."""
        return token_mean_weights(batch.mask)


@method(name="a-hpo", paper="2605.30201", base="grpo(beta=0)", experimental=True)
class AHPO:
    """HPO with a factor that follows the batch: completions that gained over completions that lost.

    alpha = clip(n_plus / n_minus, least, 1) over the batch, n_plus and n_minus the completions of positive and negative
    advantage;  A_i <- alpha A_i where A_i < 0;  token mean.

    least: the lower bound; the paper's value was not found.
    Edge cases: nobody lost gives 1, nobody gained gives `least`.
    Source: arXiv 2605.30201, by way of a summary of the full text. Confidence: secondary (lower bound reconstructed).
    """

    least: float = 0.1

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch: Batch) -> Generator[None, Tensor, Tensor]:
        """The advantages below, negative ones damped by how rare success is."""
        advantages = yield
        row = advantages[:, 0] if advantages.shape[1] == 1 else batch.sequence_mean(advantages)
        gained, lost = (row > 0).sum(), (row < 0).sum()
        alpha = (gained / lost.clamp_min(1)).clamp(self.least, 1).to(advantages.dtype)
        alpha = torch.where(lost > 0, alpha, torch.ones_like(alpha))
        return torch.where(advantages < 0, alpha * advantages, advantages)

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same."""
        return token_mean_weights(batch.mask)
