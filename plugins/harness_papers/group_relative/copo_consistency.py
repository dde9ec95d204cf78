"""COPO: prompts compete with one another where their answers agree."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from harness import Groups, hookimpl, method
from harness.errors import PluginError
from harness.mathematics import ppo_clip_loss, token_mean_weights
from harness_papers.answers import SeesAnswers, answer_entropy
from harness_papers.for_loss import keep_for_loss

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

BLENDS = ("soft", "local", "global")
FORCED = ("none", "flat", "wrong")


@method(name="copo-consistency", paper="2508.04138", base="grpo(beta=0)", clips=True)
class COPOConsistency(SeesAnswers):
    """Where the answers of a group agree, its prompt is compared with other prompts; where they differ, with itself.

    H = entropy in bits of the final answers of the group;  local A: the group's z-score;  global A: the z-score over
    prompts of mean_g(R) (1 - lambda H), lambda = (1 - 1/G) / log2(G);  both n - 1 and + eps;
    loss w L(local) + (1 - w) L(global), w = sigmoid(sharpness (H - threshold)), L the clipped loss;  token mean.

    consistency: False leaves lambda out. scale: False centres both only. blend: "local" or "global" set w to 1 or 0.
    forced: w = 0 where the local advantage is 0 ("flat") or the reward is 0 ("wrong"). dual: c of the dual clip.
    clip_low, clip_high: bounds of both losses.
    Edge cases: all wrong is pushed down and all right up if other prompts differ; one prompt alone has global A 0.
    Answers are the number that a text gives, else the text. Not the count-based COPO.
    Source: arXiv 2508.04138 and the authors' code (sharpness and threshold as a survey reports them). Confidence: code.
    """

    sharpness: float = 20.0
    threshold: float = 1.5
    clip_low: float = 0.2
    clip_high: float = 0.2
    dual: float | None = None
    eps: float = 1e-6
    consistency: bool = True
    scale: bool = True
    blend: Literal["soft", "local", "global"] = "soft"
    forced: Literal["none", "flat", "wrong"] = "none"

    def __post_init__(self) -> None:
        """Refuse values that do not exist."""
        if self.blend not in BLENDS or self.forced not in FORCED:
            msg = f"copo-consistency(blend={self.blend!r}, forced={self.forced!r}): choose of {BLENDS} and {FORCED}"
            raise PluginError(msg)

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The local advantage; the global one and the entropy travel on as extras."""
        bits = answer_entropy(batch) / math.log(2)
        keep_for_loss(batch, answer_entropy=bits, global_advantages=self._across(batch, bits))
        return self._normal(batch.groups, batch.reward)

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Every token weighs the same."""
        return token_mean_weights(batch.mask)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The blend of two clipped losses."""
        assert batch.advantages is not None
        across = batch.extras["global_advantages"].to(output.logp.dtype)
        across = across[:, None] if across.dim() == 1 else across
        local, other = (
            ppo_clip_loss(output.ratio, advantages, self.clip_low, self.clip_high, self.dual)
            for advantages in (batch.advantages, across)
        )
        weight = self._weight(batch)[:, None].to(local.dtype)
        return weight * local + (1 - weight) * other

    def _across(self, batch: Batch, bits: Tensor) -> Tensor:
        """[N] the z-score of the prompts among themselves."""
        groups = batch.groups
        value = groups.mean(batch.reward)
        if self.consistency:
            size = groups.count().to(value.dtype)
            value = value * (1 - (1 - 1 / size) / size.clamp_min(2).log2() * bits)
        prompts = value[groups.first]
        return self._normal(Groups(torch.zeros_like(groups.first)), prompts)[groups.index]

    def _normal(self, groups: Groups, x: Tensor) -> Tensor:
        return groups.standardize(x, eps=self.eps) if self.scale else groups.center(x)

    def _weight(self, batch: Batch) -> Tensor:
        """[N] of the local loss."""
        bits = batch.extras["answer_entropy"].to(batch.rewards.dtype)
        if self.blend == "soft":
            weight = (self.sharpness * (bits - self.threshold)).sigmoid()
        else:
            weight = torch.full_like(bits, float(self.blend == "local"))
        assert batch.advantages is not None
        away = batch.advantages[:, 0] == 0 if self.forced == "flat" else batch.reward == 0
        return weight if self.forced == "none" else torch.where(away, torch.zeros_like(weight), weight)
