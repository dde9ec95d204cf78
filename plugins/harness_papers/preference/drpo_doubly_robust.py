"""DRPO: a preference model's estimate, corrected where labels are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Trained, hookimpl, method
from harness.mathematics import kl_estimate, masked, only_scored, pairs_within
from harness_papers.preference.ranked import logistic, ranked_pairs
from harness_papers.rewards.heads import EndHead
from harness_papers.whole_groups import completion_log_ratio, counted

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput
    from harness.mathematics import Pairs

NAME = "drpo_preference"
LIMIT = 20.0


@method(name="drpo-doubly-robust", paper="2506.01183", needs={"reference", "hidden"}, experimental=True)
class DRPODoublyRobust:
    """A preference model judges fresh answers, and labels of logged pairs correct it: right if either is.

    Logged answers y are those of even rollout number, fresh ones y* those of odd.  With g(a, b) = sigmoid(s_a - s_b):
    direct term -(g(y*, y) - 1/2) sum_t logp(y*), over all y* and y of a prompt; correction
    -W (z - g(y, y')) sum_t logp(y), over logged pairs in both orders, z = 1, 1/2 or 0 by the rewards, and
    W = sg[clip(exp(sum_t (logp - logp_sampler)(y)), 1/cap, cap)];  L = both, plus beta times the mean over fresh ones
    of sum_t k3(logp, logp_ref).

    The paper has given pairs, written by the reference, and a given preference model. Here pairs are the sampler's, so
    W is to it, and s is a linear head on the policy's state at the end of a completion that learns the step's ordered
    pairs logistically (head_lr). baseline: False leaves the 1/2 out, as one branch of the code.
    Edge cases: a perfect g leaves no correction; without logged or fresh answers their term is 0.
    Source: arXiv 2506.01183, the authors' code (k3 per token as there). Confidence: code (terms); model and split are
    ours.
    """

    beta: float = 0.1
    cap: float = 10.0
    baseline: bool = True
    head_lr: float = 1e-3

    @hookimpl
    def build(self, policy: Any, state: Any) -> Mapping[str, Trained]:
        """The preference model."""
        return {NAME: Trained(EndHead(policy.model.config.hidden_size, 1, state.generator), lr=self.head_lr)}

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """Direct term, correction and KL."""
        assert batch.logp_ref is not None
        who = counted(batch)
        logged, fresh = who & (batch.rollout % 2 == 0), who & (batch.rollout % 2 == 1)
        scores = self._scores(output).detach()
        likely = batch.sequence_sum(output.logp)
        pairs = pairs_within(batch.groups, batch.reward, who, "every")
        mixed = pairs.where(fresh[pairs.first] != fresh[pairs.second], batch.groups)
        both = pairs.where(logged[pairs.first] & logged[pairs.second], batch.groups)
        total = self._direct(mixed, fresh, scores, likely) + self._correction(batch, output, both, scores, likely)
        divergence = masked(kl_estimate(output.logp, batch.logp_ref, "k3"), batch.mask).sum(-1)
        return total + self.beta * (divergence * fresh).sum() / fresh.sum().clamp_min(1)

    @hookimpl
    def regularize(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The preference model's own loss."""
        pairs = ranked_pairs(batch, "ordered")
        return pairs.mean(logistic(pairs.gap(self._scores(output))))

    def _direct(self, pairs: Pairs, fresh: Tensor, scores: Tensor, likely: Tensor) -> Tensor:
        """The fresh answer of every mixed pair against the logged one."""
        ours = torch.where(fresh[pairs.first], pairs.first, pairs.second)
        theirs = torch.where(fresh[pairs.first], pairs.second, pairs.first)
        wins = (scores[ours] - scores[theirs]).sigmoid() - 0.5 * self.baseline
        return -pairs.mean(wins.to(likely.dtype) * likely[ours])

    def _correction(self, batch: Batch, output: PolicyOutput, pairs: Pairs, scores: Tensor, likely: Tensor) -> Tensor:
        """What the labels of the logged pairs say beyond the model, both orders of a pair averaged."""
        reward = only_scored(batch.reward, batch.rewards)
        label = (pairs.gap(reward).sign() + 1) / 2
        apart = (label - pairs.gap(scores).sigmoid()).to(likely.dtype)
        moved = completion_log_ratio(batch, output, "sampler").detach().clamp(-LIMIT, LIMIT)
        value = moved.exp().clamp(1 / self.cap, self.cap) * likely
        return -pairs.mean(apart * pairs.gap(value)) / 2

    @staticmethod
    def _scores(output: PolicyOutput) -> Tensor:
        """[N] s; zeros where the model was not asked."""
        found: Tensor | None = output.modules.get(NAME)
        return torch.zeros_like(output.logp[:, 0]) if found is None else found[:, 0]
