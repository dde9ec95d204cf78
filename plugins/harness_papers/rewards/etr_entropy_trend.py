"""ETR: among correct answers, a steady fall of the entropy is rewarded."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness_papers.reward_columns import verdict

if TYPE_CHECKING:
    from harness import Batch


@method(name="etr-entropy-trend", paper="2604.05355", base="grpo(beta=0)", needs={"entropy"}, scope="group")
class ETR:
    """Correct answers earn more the more steadily the entropy of their steps falls, with momentum.

    e_s: mean token entropy of step s, divided by its largest value;  d_s = e_s - e_{s-1};
    m_s = gamma m_{s-1} + alpha max(-d_s, 0) - beta max(d_s, 0), m_1 = 0;  R_i = -1 if wrong, else 1 + weight sum_s m_s;
    in place of the task's columns.

    boundary: a token with one of these characters ends a step. The paper has blank lines; the bundled tasks write
    `;` after a step. Empty: every token is a step. normalize: divide by the log of the vocabulary's size (the paper has
    the entropy of the k likeliest tokens and log k). gamma: the authors' function has 0.9, their script 0.99.
    Edge cases: a single step has trend 0; a completion without any entropy gets 0 even if wrong; the trend grows about
    quadratically with the number of steps.
    Source: arXiv 2604.05355, the authors' code. Confidence: code.
    """

    alpha: float = 0.4
    beta: float = 0.8
    gamma: float = 0.99
    weight: float = 0.005
    boundary: str = ";\n"
    normalize: bool = True

    @hookimpl
    def start(self) -> None:
        """What ends a step is read off the vocabulary once."""
        self.ends: Tensor | None = None  # [V] bool
        self.scale = 0.0

    @hookimpl(wrapper=True)
    def shape_rewards(self, state: Any) -> Generator[None, Batch, Batch]:
        """Verdict and trend, in place of the task's columns."""
        batch = yield
        if batch.entropy is None:
            msg = "etr-entropy-trend needs batch.entropy; declare needs={'entropy'}"
            raise PluginError(msg)
        self._learn(state)
        trend, heard = self.trend(batch, batch.entropy / (self.scale or 1))
        right = verdict(batch)
        silent = batch.replace(reward_weights=torch.zeros_like(batch.reward_weights))
        shaped = silent.add_reward("verdict", (2 * right - 1) * heard)
        return shaped.add_reward("entropy_trend", trend * right, self.weight)

    def trend(self, batch: Batch, entropy: Tensor) -> tuple[Tensor, Tensor]:
        """([N] the summed momentum, [N] whether any step has entropy)."""
        on = batch.mask > 0
        heard = torch.where(on, entropy, torch.zeros_like(entropy))
        ends = on if self.ends is None else on & self.ends[batch.completion_ids]
        step = (ends.long().cumsum(1) - ends.long()).clamp_min(0)  # [N, T] which step a token is in
        total, size = torch.zeros_like(heard), torch.zeros_like(heard)
        total.scatter_add_(1, step, heard)
        size.scatter_add_(1, step, on.to(size.dtype))
        mean = total / size.clamp_min(1)
        change = mean.diff(dim=1) * (size[:, 1:] > 0)
        gain = self.alpha * (-change).clamp_min(0) - self.beta * change.clamp_min(0)
        number = (size > 0).sum(1, keepdim=True)
        # A gain of step s lives on, decaying, in every later step: 1 + gamma + ... for those that are left.
        left = (number - torch.arange(1, mean.shape[1], device=number.device)).clamp_min(0)
        powers = self.gamma ** torch.arange(mean.shape[1], device=number.device, dtype=mean.dtype)
        lasting = torch.cat([powers.new_zeros(1), powers.cumsum(0)])
        return (gain * lasting[left]).sum(1), (mean > 0).any(1)

    def _learn(self, state: Any) -> None:
        """Which tokens end a step, and the largest entropy, from the policy's vocabulary."""
        policy = getattr(state, "policy", None)
        if policy is None or self.scale:
            return
        texts = policy.token_texts(range(policy.model.config.vocab_size))
        self.scale = math.log(len(texts)) if self.normalize else 1.0
        if self.boundary:
            ends = [any(mark in text for mark in self.boundary) for text in texts]
            self.ends = torch.tensor(ends, device=policy.device)
