"""BPO: move the ratio to its best value inside the bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import only_scored

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

EPS = 1e-6  # added to a group's std


@method(name="bpo-bounded", paper="2604.18578", base="grpo(beta=0)", scope="group")
class BPO:
    """The ratio is drawn to 1 + eps for completions above the group's median and to 1 - eps for those below.

    token loss |A_i| |r - (1 + eps sign(R_i - median_g(R)))|, with GRPO's advantage and aggregation (GBPO; the paper's
    BPO has a critic's action value in place of R, and its median). Of two middle rewards the median is the mean.

    eps: PPO's range; 0.3 in the authors' runs with language models, which average over tokens. eps_high: another range
    above 1. temperature: a number makes the sides soft, 1 - eps + (eps + eps_high) sigmoid((R - median) / (std T)), as
    the authors' code has it with T = 1e-4; None is the sign.
    Edge cases: who is at the median is drawn to the middle of the bounds (with rewards of two values that is the
    majority); equal rewards and groups of one have A = 0 and no loss; beyond the target the gradient turns round;
    completions without a reward are no part of the median.
    Source: arXiv 2604.18578, the authors' project page and code. Confidence: code.
    """

    eps: float = 0.2
    eps_high: float | None = None
    temperature: float | None = None

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The weighted distance to the target."""
        assert batch.advantages is not None
        high = self.eps if self.eps_high is None else self.eps_high
        # From the middle of the bounds, so that a tie is drawn to exactly 1 where they are even: its slope is 0 there.
        target = 1 + (high - self.eps) / 2 + (high + self.eps) / 2 * self._side(batch).to(output.ratio.dtype)
        return batch.advantages.abs() * (output.ratio - target[:, None]).abs()

    def _side(self, batch: Batch) -> Tensor:
        """[N] to which bound a completion is drawn: -1 the lower, 1 the upper one."""
        groups, reward = batch.groups, only_scored(batch.reward, batch.rewards)
        above = (reward - groups.quantile(reward, 0.5)).nan_to_num()
        if self.temperature is None:
            return above.sign()
        return (above / (groups.std(reward) + EPS) / self.temperature / 2).tanh()  # 2 sigmoid(2 x) - 1
