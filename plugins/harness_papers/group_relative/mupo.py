"""MUPO: several ways of reasoning, each compared with its like."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Groups, hookimpl, method
from harness.errors import PluginError
from harness.mathematics import ngram_embedding, sequence_mean_weights
from harness_papers.for_loss import keep_for_loss
from harness_papers.pairs import Pairs

if TYPE_CHECKING:
    from harness import Batch


@method(paper="2604.00479", base="grpo(beta=0)", experimental=True)
class MUPO:
    """Completions are clustered; advantages are z-scores within a cluster, and right answers gain by their distance.

    div_i = mean cosine distance to the group's completions of other clusters;  R'_i = R_i + lam c_i div_i, c the
    verdict, lam = low + (high - low) (1 + cos(pi progress)) / 2;  A_i = z-score of R' within the cluster (n - 1,
    + 1e-6);  L = sum_k w_k (mean over cluster k of the losses), mean over prompts by size;  w_k = (N / (K n_k))^beta
    for K clusters of n_k of the prompt's N completions, so that with beta = 1 small ones have more say than large ones.

    The paper embeds with a model and clusters into K with at least `least` members. Here the embedding counts 1- and
    2-grams of tokens, K seeds are taken farthest first, rows join the nearest, and those of clusters that are too small
    join the nearest other one, so there may be fewer than K.
    Edge cases: one cluster and lam = 0 is the base; K clusters of one size have K times the base's loss, as the formula
    has it; a cluster of equal rewards gives 0 even in a mixed group.
    Source: notes on arXiv 2604.00479 that quote the formulas. Confidence: secondary (embedding and clustering ours).
    """

    clusters: int = 3
    least: int = 3
    high: float = 0.4
    low: float = 0.1
    beta: float = 1.0

    def __post_init__(self) -> None:
        """Refuse numbers of clusters that do not exist."""
        if self.clusters < 1 or self.least < 1:
            msg = f"mupo(clusters={self.clusters}, least={self.least}): both must be positive"
            raise PluginError(msg)

    @hookimpl
    def estimate_advantages(self, batch: Batch, state: Any) -> Tensor:
        """Within clusters, of the reward with its bonus."""
        if not len(batch):
            return batch.reward
        pairs = Pairs.of(batch.groups)
        near = self._likeness(batch, pairs)
        cluster = self._cluster(batch, pairs, near)
        alike = Groups(torch.stack([batch.groups.index, cluster], 1))
        keep_for_loss(batch, cluster_weight=self._weight(batch, alike))
        numbers = pairs.table(cluster)
        other = pairs.others() & (numbers[:, :, None] != numbers[:, None, :])
        apart = pairs.rows(((1 - near) * other).sum(2) / other.sum(2).clamp_min(1))
        lam = self.low + (self.high - self.low) * (1 + math.cos(math.pi * state.progress)) / 2
        bonus = lam * batch.correct * apart.to(batch.rewards.dtype)
        return alike.standardize(batch.reward + bonus)

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Mean over tokens, then over completions, which weigh by their cluster."""
        weights = sequence_mean_weights(batch.mask)
        own = batch.extras.get("cluster_weight")
        return weights if own is None else weights * own[:, None].to(weights.dtype)

    def _likeness(self, batch: Batch, pairs: Pairs) -> Tensor:
        """[groups, n, n] cosine of token counts; -1 with nobody."""
        ids = torch.where(batch.mask > 0, batch.completion_ids, 0)
        seen = pairs.table(ngram_embedding(ids, batch.lengths))
        there = pairs.table(torch.ones_like(pairs.place)) > 0
        return torch.where(there[:, :, None] & there[:, None, :], seen @ seen.mT, -1.0)

    def _cluster(self, batch: Batch, pairs: Pairs, near: Tensor) -> Tensor:
        """[N] numbers of clusters within the group."""
        groups = batch.groups
        seed = groups.rank(batch.rollout) == 0
        seeds = [seed]
        for _ in range(self.clusters - 1):
            closest = torch.stack([self._to(near, pairs, chosen) for chosen in seeds]).amax(0)
            # Farthest from every seed; equals are told apart by their number.
            seed = groups.rank(closest + 1e-9 * groups.rank(batch.rollout)) == 0
            seeds.append(seed & (closest < 1 - 1e-9))
        number = self._nearest(near, pairs, seeds)
        size = torch.stack([groups.sum((number == k).double()) for k in range(len(seeds))])
        large = size >= min(self.least, len(batch))
        large[0] |= ~large.any(0)
        return self._nearest(near, pairs, [chosen & large[k] for k, chosen in enumerate(seeds)])

    @staticmethod
    def _to(near: Tensor, pairs: Pairs, chosen: Tensor) -> Tensor:
        """[N] likeness to the group's seed; -1 where it has none."""
        return pairs.rows(torch.where(pairs.table(chosen)[:, None, :], near, -1.0).amax(2))

    def _nearest(self, near: Tensor, pairs: Pairs, seeds: list[Tensor]) -> Tensor:
        return torch.stack([self._to(near, pairs, chosen) for chosen in seeds]).argmax(0)

    def _weight(self, batch: Batch, alike: Groups) -> Tensor:
        """[N] N w_k / n_k: what a completion weighs beside 1 / N in its group's mean."""
        first = torch.zeros_like(batch.reward).index_fill_(0, alike.first, 1.0)
        share = batch.groups.count() / alike.count()
        return share * (share / batch.groups.sum(first)) ** self.beta
