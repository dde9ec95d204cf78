"""SubPO: what a completion adds to what the others of its group have found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import table
from harness_papers.answers import SeesAnswers, answer_classes

if TYPE_CHECKING:
    from harness import Batch


@method(name="subpo", paper="2307.13372", base="reinforce", scope="group", experimental=True)
class SubPO(SeesAnswers):
    """The reward is the marginal gain of a submodular function: what has been found already brings nothing.

    F(S) = sum over the distinct answers in S of the best reward (not below 0) with it: coverage, monotone and
    submodular. Gain of o_i = F with it minus F without it; A_i = gain_i - mean_g(gain); REINFORCE on sums of tokens.

    order: "shapley" averages the gain over all orders of the group, which splits the reward of an answer among those
    who gave it; "rollout" adds completions as they were sampled, so that only the first of equals gains.
    Edge cases: gains of a group sum to F of all; equal rewards with different answers give 0; one alone gives 0.
    Source: arXiv 2307.13372 (per step of a trajectory); the form over a group is ours. Confidence: abstract
    (reconstructed).
    """

    order: Literal["shapley", "rollout"] = "shapley"

    def __post_init__(self) -> None:
        """Refuse an order that does not exist."""
        if self.order not in {"shapley", "rollout"}:
            msg = f"subpo(order={self.order!r}): choose 'shapley' or 'rollout'"
            raise PluginError(msg)

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Centred gains."""
        return batch.groups.center(self._gain(batch))

    def _gain(self, batch: Batch) -> Tensor:
        """[N] the gain of every completion, answer by answer."""
        alike, reward = answer_classes(batch), batch.reward.clamp_min(0)
        if not len(batch):
            return reward
        place = alike.rank(reward if self.order == "shapley" else batch.rollout)
        values = table(alike, reward, place)
        if self.order == "rollout":
            best = values.cummax(1).values
            return torch.diff(best, dim=1, prepend=torch.zeros_like(best[:, :1]))[alike.index, place]
        # Each step from one reward to the next is shared by those who have at least the next.
        left = (alike.count(expand=False)[:, None] - torch.arange(values.shape[1], device=reward.device)).clamp_min(1)
        steps = torch.diff(values, dim=1, prepend=torch.zeros_like(values[:, :1])) / left
        return steps.cumsum(1)[alike.index, place]
