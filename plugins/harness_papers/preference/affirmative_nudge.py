"""Efficient exploration: pairwise signals with a small constant added, on the pair whose outcome is most uncertain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from harness import Groups, Trained, hookimpl, method
from harness.errors import PluginError
from harness_papers.pairs import Pairs
from harness_papers.rewards.heads import end_state

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


class EpistemicHead(nn.Module):
    """Scores [N, 1 + particles]: one estimate, and particles, each a trained head on top of a fixed random network."""

    first: Tensor
    second: Tensor

    def __init__(self, width: int, particles: int, inner: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        first = torch.randn(width, inner, generator=generator) / width**0.5
        second = torch.randn(inner, particles, generator=generator) / inner**0.5
        self.register_buffer("first", first)
        self.register_buffer("second", second)
        self.linear = nn.Linear(width, 1 + particles)
        with torch.no_grad():
            self.linear.weight.normal_(0, width**-0.5, generator=generator)
            self.linear.bias.zero_()

    def forward(self, batch: Batch, hidden: Tensor) -> Tensor:
        """The estimate, then the particles."""
        x = end_state(batch, hidden).to(self.linear.weight.dtype)
        prior = (x @ self.first).tanh() @ self.second
        scores: Tensor = self.linear(x)
        return scores + torch.cat([torch.zeros_like(prior[:, :1]), prior], 1)


def most_uncertain(groups: Groups, particles: Tensor) -> Tensor:
    """[N] bool: in every group of two or more the pair of largest Var_z sigmoid(r_z(i) - r_z(j)), the first of ties."""
    if not len(groups):
        return torch.zeros_like(particles[:, 0], dtype=torch.bool)
    pairs = Pairs.of(groups)
    table = pairs.table(particles)
    chances = (table[:, :, None] - table[:, None, :]).sigmoid()
    spread = torch.where(pairs.others().triu(1), chances.var(-1, correction=0), -1)
    size = spread.shape[1]
    largest, best = spread.flatten(1).max(1, keepdim=True)
    place = torch.arange(size, device=particles.device)
    chosen = (place == best // size) | (place == best % size)
    return pairs.rows(chosen & (largest >= 0))


@method(
    name="affirmative-nudge", paper="2603.17378", base="reinforce+kl(beta=0.01)", needs={"hidden"}, experimental=True
)  # fmt: skip
class AffirmativeNudge:
    """Of each group only the pair whose outcome is most uncertain is compared and trained, with a small bonus for both.

    A_Y = p(Y >= Y') - 1/2 + nudge, p = sigmoid(r(Y) - r(Y')), and the same for Y' with p turned; L = -A_Y sum_t logp,
    mean over who is compared; the pair maximises Var_z sigmoid(r_z(Y) - r_z(Y')) over particles z.  r and all r_z learn
    ln(1 + exp(-(r(Y) - r(Y')))) from which of the pair the task's reward prefers.

    The paper has 16 candidates, 100 particles, inner networks of 1024 and priors of 256 on a language model, and people
    for the preference; here `particles` linear heads on the policy's state at the end of a completion, each on a fixed
    random network of `inner` units, trained with head_lr. The anchor is the base's KL (the paper's was not
    read); nudge is ours.
    Edge cases: the pair's signals add up to 2 nudge; equal rewards teach nothing; groups of one are not trained on.
    Source: arXiv 2603.17378, the abstract and notes. Confidence: secondary; the reward model's size is ours.
    """

    nudge: float = 0.02
    particles: int = 16
    inner: int = 32
    head_lr: float = 1e-3

    @hookimpl
    def build(self, policy: Any, state: Any) -> Mapping[str, Trained]:
        """The reward model with its particles."""
        width = policy.model.config.hidden_size
        return {
            "epistemic": Trained(EpistemicHead(width, self.particles, self.inner, state.generator), lr=self.head_lr)
        }

    @hookimpl
    def annotate(self, batch: Batch, policy: Any) -> Mapping[str, Tensor]:
        """The estimates, who is compared, and the preference's reward."""
        scores = policy.evaluate(batch).modules["epistemic"].detach()
        compared = most_uncertain(batch.groups, scores[:, 1:])
        return {"estimate": scores[:, 0], "compared": compared, "preferred": batch.reward}

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The win probability less a half, and the nudge; 0 for who is not compared."""
        compared = self._compared(batch)
        estimate = batch.extras["estimate"].to(batch.rewards.dtype)
        other = batch.groups.sum(estimate, compared) - estimate
        return torch.where(compared, (estimate - other).sigmoid() - 0.5 + self.nudge, 0)

    @hookimpl
    def train_on(self, batch: Batch) -> Tensor:
        """[N] bool: the pairs."""
        return self._compared(batch)

    @hookimpl
    def regularize(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The reward model's own loss, on the pairs of the minibatch."""
        scores, compared, groups = output.modules["epistemic"], self._compared(batch), batch.groups
        truth = batch.extras["preferred"].to(scores.dtype)
        other, rival = groups.sum(scores, compared) - scores, groups.sum(truth, compared) - truth
        better = compared & (groups.count(compared) == 2) & (truth > rival)
        losses = nn.functional.softplus(other - scores) * better[:, None]
        return losses.sum() / (better.sum() * scores.shape[1]).clamp_min(1)

    @staticmethod
    def _compared(batch: Batch) -> Tensor:
        found = batch.extras.get("compared")
        if found is None:
            msg = "affirmative-nudge needs batch.extras['compared'] and ['estimate'], which annotate gives"
            raise PluginError(msg)
        return found
