"""R3, ranking: completions that came to nothing are ranked by the pattern of their entropies."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import masked, mean_rank
from harness_papers.pairs import Pairs

if TYPE_CHECKING:
    from harness import Batch


def peak_mean(entropy: Tensor, mask: Tensor, share: float) -> Tensor:
    """[N] the mean of the max(1, floor(share T_i)) largest of a row of T_i counted tokens; 0 for an empty one."""
    number = (mask > 0).sum(1)
    most = (share * number).floor().clamp_min(1).long()
    ordered = torch.where(mask > 0, entropy, -torch.inf).sort(1, descending=True)[0]
    taken = torch.arange(entropy.shape[1], device=entropy.device) < torch.minimum(most, number)[:, None]
    return torch.where(taken, ordered, 0).sum(1) / most


@method(
    name="r3-ranking",
    paper="2601.19620",
    base="grpo(beta=0)",
    needs={"entropy"},
    scope="group",
    experimental=True,
    neutral={"most": 0.0},
    active={"on": "failed"},
)
class R3Ranking:
    """Cut-off completions earn by rank: uncertain at a few places and sure elsewhere is better than the reverse.

    i dominates j iff its peak (mean of the `share` largest token entropies) is higher and its mean entropy lower;
    S_i = how many it dominates;  the k-th of N by S (from 0) gets most (1 - k / (N - 1)), added to its reward.

    on: "truncated" ranks the group's cut-off completions, "failed" all that are wrong. Ties share the mean of their
    rewards (the paper's rule is not known); its constants are not either: ours.
    Edge cases: a single one gets `most`; an empty one dominates nobody.
    Source: arXiv 2601.19620, excerpts; the authors' code was not found. Confidence: paper (constants assumed).
    """

    share: float = 0.2
    most: float = 0.1
    on: Literal["truncated", "failed"] = "truncated"

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The rank's reward as a column."""
        batch = yield
        return batch.add_reward("entropy_rank", self.ranked(batch)) if self.most else batch

    def ranked(self, batch: Batch) -> Tensor:
        """[N] the reward; 0 for those that are not ranked."""
        if batch.entropy is None:
            msg = "r3-ranking needs batch.entropy; declare needs={'entropy'}"
            raise PluginError(msg)
        where = batch.truncated if self.on == "truncated" else ~batch.correct
        pairs, entropy = Pairs.of(batch.groups), masked(batch.entropy, batch.mask)
        peak = pairs.table(peak_mean(entropy, batch.mask, self.share))
        mean = pairs.table(batch.sequence_mean(entropy))
        said = pairs.table(batch.lengths) > 0
        better = (peak[:, :, None] > peak[:, None, :]) & (mean[:, :, None] < mean[:, None, :]) & said[:, :, None]
        beats = pairs.rows((better & pairs.others(where)).sum(2)).to(batch.rewards.dtype)
        rank = mean_rank(batch.groups, torch.where(where, beats, torch.nan))
        number = batch.groups.count(where)
        share = torch.where(number > 1, rank / (number - 1).clamp_min(1), 1)
        return torch.where(where, self.most * share.nan_to_num(), 0)
