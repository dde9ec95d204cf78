"""BPO: move the ratio to its best value inside the bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="bpo-bounded", paper="2604.18578", base="grpo(beta=0)", scope="group")
class BPO:
    """The ratio is drawn to 1 + eps for completions above the group's median and to 1 - eps for those below.

    token loss |A_i| |r - (1 + eps sign(R_i - median_g(R)))|, with GRPO's advantage and aggregation (GBPO; the paper's
    BPO has a critic's action value in place of R, and its median). Median: the lower middle.

    Edge cases: who is at the median is drawn to ratio 1 (with rewards of two values that is the majority); equal
    rewards and groups of one have A = 0 and no loss; beyond the target the gradient turns round.
    Source: arXiv 2604.18578, the authors' project page; the group form is reconstructed. Confidence: paper.
    """

    eps: float = 0.2

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The weighted distance to the target."""
        assert batch.advantages is not None
        above = (batch.reward - batch.groups.median(batch.reward)).sign().to(output.ratio.dtype)
        return batch.advantages.abs() * (output.ratio - (1 + self.eps * above[:, None])).abs()
