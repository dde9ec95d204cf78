"""GRRM: a reward model that scores the completions of a prompt against one another."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from harness import Trained, hookimpl, method
from harness.errors import PluginError
from harness_papers.reward_columns import in_place
from harness_papers.rewards.heads import EndHead

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

TOP = 10  # the judge's scores are whole numbers from 0 to it


@method(name="grrm", paper="2602.14028", base="dr-grpo+gspo", needs={"hidden"}, experimental=True)
class GRRM:
    """Completions are judged together: a learned model ranks a prompt's candidates and scores them 0 to 10.

    R_i = scale * round(10 sigmoid(u_i - mean_g u)), in place of the task's columns;  A_i = R_i - mean_g R, GSPO's loss.
    u learns to order every pair of a group as the task's reward does: the mean of ln(1 + exp(-(u_i - u_j))) over the
    pairs with R_i > R_j.

    The paper's judge is a language model that reads all candidates and is itself trained by the share of pairs in the
    right order; here it is a linear head on the policy's states, trained with head_lr, and comparison comes
    from centring within the group.
    The paper's tenth of supervised loss needs references and is left out; its overlong penalty is `overlong-penalty(
    weight=0.04)` on top.
    Edge cases: a group of one, and tied pairs, teach nothing.
    Source: arXiv 2602.14028, the authors' recipe. Confidence: code (settings), secondary; the judge is ours.
    """

    scale: float = 0.01
    head_lr: float = 1e-3

    @hookimpl
    def build(self, policy: Any, state: Any) -> Mapping[str, Trained]:
        """The judge."""
        return {"judge": Trained(EndHead(policy.model.config.hidden_size, 1, state.generator), lr=self.head_lr)}

    @hookimpl
    def annotate(self, batch: Batch, policy: Any) -> Mapping[str, Tensor]:
        """The judge's raw scores, and the reward that it learns from."""
        return {"judged": policy.evaluate(batch).modules["judge"].detach()[:, 0], "judged_truth": batch.reward}

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """Whole scores within the group, in place of the task's columns."""
        batch = yield
        raw = batch.extras.get("judged")
        if raw is None:
            msg = "grrm needs batch.extras['judged'], the judge's scores [N], which annotate gives"
            raise PluginError(msg)
        relative = batch.groups.center(raw.to(batch.rewards.dtype)).sigmoid()
        return in_place(batch, "group_score", self.scale * (TOP * relative).round())

    @hookimpl
    def regularize(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The judge's ranking loss over the pairs of the minibatch's groups."""
        raw, truth, index = output.modules["judge"][:, 0], batch.extras["judged_truth"], batch.groups.index
        better = (index[:, None] == index[None, :]) & (truth[:, None] > truth[None, :])
        gap = raw[:, None] - raw[None, :]
        return (nn.functional.softplus(-gap) * better).sum() / better.sum().clamp_min(1)
