"""Powers of the mean as the scale: between no scale and that of MaxRL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import Single, check_single, with_singles

if TYPE_CHECKING:
    from harness import Batch


@method(name="p-norm", paper="2602.02710", base="grpo(beta=0)", scope="group", search={"power": (0.25, 1.0)})
class PNorm:
    """The centred reward over a power of the group's mean, which says how much hard prompts weigh.

    A_i = (R_i - mean_g(R)) / (max(mean_g(R)^power, floor) + eps). Power 1/2 without floor is the MaxRL authors'
    "one-sided GRPO" (eps 1e-6), 1 with floor 1/8 their clipped p-norm, 1 without floor MaxRL, 0 Dr. GRPO.

    per_completion: divided by the size of the group as well, as the clipped p-norm is (by that of the first group of
    the batch, in their code). single: "raw" takes mean 0 for a group of one (their code, where floor or eps is not 0).
    Edge cases: equal rewards and groups of one give 0; a negative mean counts as 0, and 0 without floor gives 0.
    Source: code of the authors of arXiv 2602.02710. Confidence: code.
    """

    power: float = 0.5
    floor: float = 0.0
    eps: float = 1e-6
    per_completion: bool = False
    single: Single = "zero"

    def __post_init__(self) -> None:
        """Refuse values that do not exist."""
        check_single(self.single, "p-norm")
        if self.power < 0 or self.floor < 0:
            msg = f"p-norm(power={self.power}, floor={self.floor}): neither may be negative"
            raise PluginError(msg)

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Centred and scaled."""
        groups, reward = batch.groups, batch.reward
        mean = groups.mean(reward).clamp_min(0)
        scaled = self._over(groups.center(reward), mean)
        found = with_singles(scaled, self._over(reward, torch.zeros_like(mean)), groups, self.single)
        return found / groups.count() if self.per_completion else found

    def _over(self, x: Tensor, mean: Tensor) -> Tensor:
        unit = (mean**self.power).clamp_min(self.floor) + self.eps
        return torch.where(unit > 0, x / torch.where(unit > 0, unit, torch.ones_like(unit)), torch.zeros_like(x))
