"""OPMD: mirror descent on what older policies wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import Single, check_single, with_singles

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(paper="2505.17826", base="reinforce", scope="group")
class OPMD:
    """The gradient of mirror descent with a weight 1 / (1 + tau) in place of a penalty: no ratio, any policy's samples.

    A_i = R_i - b;  token loss -A_i logp / (1 + tau);  b is the group's mean, or with baseline="logavgexp" the soft
    value tau log mean_g exp(R / tau), which is above it and tends to it for large tau.

    single: "raw" keeps the reward of a group of one (Trinity-RFT).
    Edge cases: equal rewards and groups of one give 0.
    Source: arXiv 2505.17826 and its code (Trinity-RFT), after Kimi k1.5. Confidence: code.
    """

    tau: float = 1.0
    baseline: Literal["mean", "logavgexp"] = "mean"
    single: Single = "zero"

    def __post_init__(self) -> None:
        """Refuse values that do not exist."""
        check_single(self.single, "opmd")
        if self.baseline not in {"mean", "logavgexp"} or not self.tau > 0:
            msg = f"opmd(baseline={self.baseline!r}, tau={self.tau}): choose 'mean' or 'logavgexp', and tau > 0"
            raise PluginError(msg)

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The distance from the baseline."""
        groups, apart = batch.groups, batch.groups.center(batch.reward)
        if self.baseline == "logavgexp":
            size = groups.count().to(apart.dtype)
            apart = apart - self.tau * (groups.logsumexp(apart / self.tau) - size.log())
        return with_singles(apart, batch.reward, groups, self.single)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The score-function loss of every token, damped."""
        assert batch.advantages is not None
        return -batch.advantages * output.logp / (1 + self.tau)
