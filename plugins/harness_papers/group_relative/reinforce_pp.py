"""REINFORCE++: PPO's tricks with neither critic nor group."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import KLKind, discounted_returns, ppo_clip_loss, token_mean_weights, whiten
from harness_papers.kl_reward import add_kl_reward, written_kl

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(
    paper="2501.03262",
    needs=lambda m: {"reference"} if m.beta else set(),
    clips=True,
    search={"beta": (1e-3, 0.1, "log"), "clip": (0.1, 0.4)},
)
class ReinforcePP:
    """A KL penalty per token in the reward, returns whitened over all tokens of the batch, the clipped loss.

    r_{i,t} = R_i on the last token - beta (logp - logp_ref);  G_{i,t} = sum_{t' >= t} gamma^(t' - t) r_{i,t'};
    A_{i,t} = (G - mu) / sqrt(var + eps) over all tokens of the batch, so that long answers count more;  token mean.

    clip: both bounds. kl: the estimator. returns: False takes only its own KL off a token, not the sum to come (NeMo,
    kl="low_var"). population: the variance over n, and at least eps, instead of over n - 1 and plus eps (OpenRLHF and
    NeMo; verl). count_eps: added to the number of tokens in the mean, 1e-8 in verl.
    Edge cases: works with groups of one; equal returns everywhere give 0; a group that is all right still gains where
    others fail; a single token gives 0.
    Source: arXiv 2501.03262; verl and OpenRLHF. Confidence: code.
    """

    beta: float = 0.01
    gamma: float = 1.0
    clip: float = 0.2
    eps: float = 1e-8
    kl: KLKind = "k1"
    returns: bool = True
    population: bool = False
    count_eps: float = 0.0

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The KL penalty, token by token."""
        batch = yield
        return add_kl_reward(batch, self.beta, self.kl) if self.beta and self.returns else batch

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Whitened returns to go."""
        returns = discounted_returns(batch.token_rewards, batch.mask, self.gamma)
        if self.beta and not self.returns:
            returns = returns - self.beta * written_kl(batch, self.kl)
        if self.population:
            return whiten(returns, batch.mask, self.eps, correction=0, floor=True)
        return whiten(returns, batch.mask, self.eps, count_eps=self.count_eps)

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same."""
        return token_mean_weights(batch.mask)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The clipped surrogate."""
        assert batch.advantages is not None
        return ppo_clip_loss(output.ratio, batch.advantages, self.clip, self.clip)
