"""POWER-DL: pairs of weighted log-probabilities, with labels that drift."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness_papers.logps import written_logp
from harness_papers.preference.ranked import best_and_worst, logistic

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="power-dl", paper="2412.09544", experimental=True)
class PowerDL:
    """Length-weighted log-probabilities of a pair without a reference, an anchor, and labels that follow the policy.

    w_i = 1 / T_i, z = beta (w_w sum_t logp_w - w_l sum_t logp_l + w_w - w_l);  L = mean over prompts, with the best and
    the worst of a group, of -l ln sigmoid(z) - (1 - l) ln sigmoid(-z) - eta beta w_w sum_t logp_w.
    l starts at 1; after each step l <- (1 - gamma) l + gamma sigmoid(z) at the policy that sampled.

    The paper's labels belong to the pairs of its data; pairs are new here, so a prompt has one. eta, beta and gamma are
    ours, gamma is to be small.
    State: a label a prompt. Edge cases: ties are no pair; gamma = 0 keeps the labels at 1; with eta = 0 and equal
    lengths this is SimPO without a margin.
    Source: arXiv 2412.09544, the abstract. Confidence: abstract (reconstructed).
    """

    beta: float = 2.0
    eta: float = 0.1
    gamma: float = 0.1

    @hookimpl
    def start(self) -> None:
        """All labels are 1."""
        self.labels: dict[str, float] = {}

    @hookimpl
    def annotate(self, batch: Batch) -> Mapping[str, Tensor]:
        """[N] the label of a row's prompt."""
        labels = [self.labels.get(record.key, 1.0) for record in batch.prompts]
        return {"power_label": torch.tensor(labels, dtype=batch.rewards.dtype, device=batch.device)}

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The soft logistic loss and the anchor."""
        pairs = best_and_worst(batch)
        label = batch.extras.get("power_label", torch.ones_like(batch.reward))
        score = self._score(batch, output.logp)
        soft = logistic(pairs.gap(score), 1 - label[pairs.first])
        return pairs.mean(soft - self.eta * self.beta * batch.sequence_mean(output.logp)[pairs.first])

    @hookimpl
    def end_step(self, batch: Batch) -> None:
        """Labels move towards what the policy thought of their pairs."""
        pairs = best_and_worst(batch)
        likely = self._score(batch, written_logp(batch)).detach()
        held = batch.groups.index[pairs.first]
        share = pairs.weight.new_zeros(batch.groups.number).index_add(0, held, pairs.weight)
        total = pairs.weight.new_zeros(batch.groups.number)
        total = total.index_add(0, held, pairs.weight * pairs.gap(likely).sigmoid())
        for row, weight, value in zip(batch.groups.first.tolist(), share.tolist(), total.tolist(), strict=True):
            if weight > 0:
                key = batch.prompts[row].key
                self.labels[key] = (1 - self.gamma) * self.labels.get(key, 1.0) + self.gamma * value / weight

    def _score(self, batch: Batch, logp: Tensor) -> Tensor:
        """[N] beta (w sum_t logp + w)."""
        return self.beta * (batch.sequence_mean(logp) + 1 / batch.mask.sum(-1).clamp_min(1))
