"""HAPO: advantage, clip range and step of a token follow its entropy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import masked, only_scored, ppo_clip_loss, with_singles
from harness_papers.entropy.monitor import token_entropy

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

LEAST = 1e-8  # of an entropy and of a spread
OUTLIER = 5.0


def relative_entropy(entropy: Tensor, mask: Tensor, pivot: float, *, fold: bool = False) -> Tensor:
    """[N, T] h in [-1, 1]: the log-entropy of a token beside the pivot quantile of all of them, 0 where masked.

    e = ln max(H, 1e-8) less its quantile (nearest rank), over its root mean square; each side is divided by its own
    extreme. fold: the lower side comes out in [0, 1] as well.
    """
    on = mask > 0
    if not on.any():
        return torch.zeros_like(entropy)
    level = entropy.clamp_min(LEAST).log()
    apart = level - torch.quantile(level[on], pivot, interpolation="nearest")
    apart = masked(apart / apart[on].square().mean().sqrt().clamp_min(LEAST), mask)
    top, bottom = apart.amax().clamp_min(LEAST), (-apart.amin()).clamp_min(LEAST)
    below = apart / bottom
    return torch.where(apart > 0, apart / top, -below if fold else below)


@method(name="hapo-heterogeneous", paper="2509.16591", base="dapo", needs={"entropy"}, clips=True)
class HAPOHeterogeneous:
    """Tokens of high entropy may rise further and weigh more, those of low entropy may fall further and weigh less.

    h of a token: its log-entropy beside the `pivot` quantile of the minibatch, scaled to [-1, 1].
    advantage: mean and std (over n, + eps) of the group's rewards, each counted once a token ("tokens"); GRPO's z-score
    (n - 1) in a group with a value of 5 or more, and in all with "completions". std: False does not divide.
    Clip: upper bound clip_high (1 + alpha h) where h > 0, lower bound clip_low (1 - alpha h) else.
    Weight: A (1 + beta h) where h > 0 and the ratio is outside half the clip range, or h <= 0 and it is inside.
    Then PPO's clip with a dual bound, and DAPO's token mean.

    fold: the published code divides negative h by a negative number, so that h >= 0 everywhere and what the paper says
    of low entropy never happens. outlier_padding: that code finds outliers among the padding too, where the reward is
    0, and a group of one keeps its reward then. The paper's temperature of 1 + 0.05 h a token is not here.
    Edge cases: equal entropies have h = 0, which is PPO's clip; equal rewards give 0.
    Source: arXiv 2509.16591, the authors' code. Confidence: code.
    """

    pivot: float = 0.8
    alpha: float = 1.0
    beta: float = 1.0
    clip_low: float = 0.2
    clip_high: float = 0.2
    dual: float | None = 10.0
    advantage: Literal["tokens", "completions"] = "tokens"
    std: bool = True
    eps: float = 1e-6
    fold: bool = False
    outlier_padding: bool = False

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """[N] z-scores within the group, over tokens or completions."""
        groups, reward = batch.groups, only_scored(batch.reward, batch.rewards)
        plain = groups.standardize(reward, eps=self.eps) if self.std else groups.center(reward)
        if self.advantage == "completions":
            return plain
        apart, mean, scale = self._by_token(batch, reward)
        found = apart / scale
        wild = groups.any(found.abs() >= OUTLIER)
        if self.outlier_padding:
            padded = groups.any(~reward.isnan() & (batch.mask.sum(-1) < batch.tokens))
            wild = wild | (padded & ((mean / scale).abs() >= OUTLIER))
            raw = reward / (1 + self.eps) if self.std else reward
            plain = with_singles(plain, raw, groups, "raw").nan_to_num()
        return torch.where(wild, plain, found)

    def _by_token(self, batch: Batch, reward: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """[N] each: distance from the group's mean over tokens, that mean, and what the distance is divided by."""
        groups = batch.groups
        tokens = torch.where(reward.isnan(), torch.zeros_like(reward), batch.mask.sum(-1))
        number = groups.sum(tokens).clamp_min(1)
        least = groups.min(reward)  # sums around it are exact where all are equal
        mean = least + groups.sum(tokens * (reward - least)) / number
        apart = (reward - mean).nan_to_num()
        spread = (groups.sum(tokens * apart.square()) / number).sqrt()
        apart = torch.where(spread > 0, apart, torch.zeros_like(apart))
        return apart, mean, spread + self.eps if self.std else torch.ones_like(spread)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """[N, T] the clipped surrogate with the token's own range and weight."""
        assert batch.advantages is not None
        entropy = token_entropy("hapo-heterogeneous", output).detach()
        h = relative_entropy(entropy, batch.mask, self.pivot, fold=self.fold)
        ratio, eager = output.ratio, h > 0
        low = self.clip_low * torch.where(eager, torch.ones_like(h), 1 - self.alpha * h)
        high = self.clip_high * torch.where(eager, 1 + self.alpha * h, torch.ones_like(h))
        still = ratio.detach()
        inside = (still > 1 - low / 2) & (still < 1 + high / 2)
        weight = torch.where(eager != inside, 1 + self.beta * h, torch.ones_like(h))
        return ppo_clip_loss(ratio, batch.advantages * weight, low, high, self.dual)
