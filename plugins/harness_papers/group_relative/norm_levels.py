"""Mean and std, each over the group, the batch or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from harness import Groups, hookimpl, method
from harness.errors import PluginError

if TYPE_CHECKING:
    from harness import Batch

Level = Literal["group", "batch", "none"]
LEVELS = ("group", "batch", "none")


@method(
    name="norm-levels",
    paper="2505.24298",
    base="grpo(beta=0)",
    scope=lambda m: "batch" if "batch" in (m.mean, m.std) else "group",
)
class NormLevels:
    """The z-score with a free choice of whose mean and whose std, and of leaving oneself out of the mean.

    A_i = (R_i - m) / (s + eps), m the mean over the group, the batch or 0;  s the root mean square of R - m over the
    group or the batch, over n - 1, or 1 without eps.

    leave_one_out: m is the mean of the others; each distance, and so s, is n / (n - 1) times larger. population: s
    over n.
    Edge cases: where s is 0 (equal rewards, groups of one) the advantage is 0.
    Source: AReaL's normalization (arXiv 2505.24298). Confidence: code.
    """

    mean: Level = "group"
    std: Level = "group"
    leave_one_out: bool = False
    population: bool = False
    eps: float = 1e-5

    def __post_init__(self) -> None:
        """Refuse a level that does not exist."""
        for name, level in (("mean", self.mean), ("std", self.std)):
            if level not in LEVELS:
                msg = f"norm-levels({name}={level!r}): choose one of {', '.join(LEVELS)}"
                raise PluginError(msg)

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Centre, then scale by the distances themselves."""
        levels = {"group": batch.groups, "batch": Groups(torch.zeros_like(batch.prompt))}
        apart = batch.reward
        if self.mean != "none":
            groups = levels[self.mean]
            apart = apart - groups.leave_one_out_mean(apart) if self.leave_one_out else groups.center(apart)
        if self.std == "none":
            return apart
        groups = levels[self.std]
        size = (groups.count() - (0 if self.population else 1)).clamp_min(1).to(apart.dtype)
        spread = (groups.sum(apart.square()) / size).sqrt()
        known = (spread > 0) & (groups.count() > 1)
        return torch.where(known, apart / torch.where(known, spread + self.eps, 1.0), torch.zeros_like(apart))
