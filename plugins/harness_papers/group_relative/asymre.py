"""AsymRE: a baseline below the mean, so that good answers count more than bad ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import Single, check_single, with_singles

if TYPE_CHECKING:
    from harness import Batch


@method(name="asymre", paper="2506.20520", base="reinforce", scope="group")
class AsymRE:
    """REINFORCE on old samples without any ratio, with a baseline a little below the mean of the group.

    A_i = R_i - (mean_g(R) + shift);  token loss -A_i logp (the base's). Off-policy a lower baseline is the safe side:
    a baseline above the mean reward makes the policy collapse.

    shift: -0.1, negative as the paper recommends; 0 is REINFORCE with the group's mean. single: "raw" keeps the reward
    of a group of one, without shift (Trinity-RFT).
    Edge cases: equal rewards give -shift to all, groups of one too: what was sampled is reinforced a little.
    Source: arXiv 2506.20520; Trinity-RFT. Confidence: code.
    """

    shift: float = -0.1
    single: Single = "zero"

    def __post_init__(self) -> None:
        """Refuse a value that does not exist."""
        check_single(self.single, "asymre")

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The distance from the shifted mean."""
        centred = batch.groups.center(batch.reward) - self.shift
        return with_singles(centred, batch.reward, batch.groups, self.single)
