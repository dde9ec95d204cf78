"""MC-GRPO: the median as the baseline."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method

if TYPE_CHECKING:
    from harness import Batch

NONZERO = 1e-6  # the authors' test for "not zero"


@method(
    name="mc-grpo",
    paper="2601.22582",
    base="grpo",
    scope="group",
    exempt={"permutation": "of completions that tie at the median, the one in the middle by row order is left out"},
)
class MCGRPO:
    """G + 1 completions, centred on their median, scaled by the median deviation; the median itself is not trained on.

    A_i = (R_i - med) / (MAD + eps), MAD = median |R - med| (lower middle); then times the size of the group over its
    number of non-zero entries (authors' code, not in the abstract). Of G + 1 completions G are back-propagated.

    mad_floor: a lower bound on MAD. With binary rewards MAD is 0 as soon as most agree, and advantages reach
    thousands, as published; only clipping saves the run. rescale: the factor size/non-zero.
    Edge cases: equal rewards give 0, and one completion is dropped all the same; a group of one is kept, at 0.
    Source: arXiv 2601.22582 and the authors' code. Confidence: code.
    """

    eps: float = 1e-3
    mad_floor: float = 0.0
    rescale: bool = True

    @hookimpl(wrapper=True)
    def allocate_rollouts(self) -> Generator[None, Sequence[Any], Sequence[Any]]:
        """One completion more than the plugin below asks for."""
        requests = yield
        return [dataclasses.replace(request, n=request.n + 1) for request in requests]

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Distance to the median in units of the median distance."""
        groups, distance = batch.groups, batch.reward - batch.groups.median(batch.reward)
        scaled = distance / (groups.median(distance.abs()).clamp_min(self.mad_floor) + self.eps)
        if not self.rescale:
            return scaled
        moved = groups.sum(scaled.abs() > NONZERO)
        return scaled * groups.count() / moved.clamp_min(1)

    @hookimpl
    def train_on(self, batch: Batch) -> Tensor:
        """All but the lower-middle completion of every group."""
        size = batch.groups.count()
        middle = batch.groups.rank(batch.reward) == torch.div(size - 1, 2, rounding_mode="floor")
        return ~middle | (size == 1)
