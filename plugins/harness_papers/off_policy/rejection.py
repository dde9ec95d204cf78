"""What leaves the loss, and whether its divisors know."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl

if TYPE_CHECKING:
    from harness import Batch

__all__ = ["Rejection", "within"]


class Rejection:
    """For methods that reject tokens or completions: with denominator="kept" what they reject leaves the mask."""

    denominator: str

    def kept(self, batch: Batch) -> Tensor:
        """Bool [N, T] or [N, 1]: what stays."""
        raise NotImplementedError

    @hookimpl(wrapper=True)
    def annotate(self, batch: Batch, policy: Any) -> Generator[None, list[Mapping[str, Tensor]], Any]:
        """See to it that the old log-probabilities are known before `train_on` where it must choose."""
        found = yield
        if self.denominator == "kept" and batch.logp_old is None:
            policy.evaluate(batch)
        return found

    @hookimpl(wrapper=True)
    def train_on(self, batch: Batch) -> Generator[None, list[Tensor], list[Tensor]]:
        """With denominator="kept", what stays."""
        found = yield
        return [*found, self.kept(batch).expand(batch.mask.shape)] if self.denominator == "kept" else found


def within(x: Tensor, low: float | None, high: float | None) -> Tensor:
    """Bool: low <= x <= high, where None is no bound."""
    inside = torch.ones_like(x, dtype=torch.bool)
    inside = inside if low is None else inside & (x >= low)
    return inside if high is None else inside & (x <= high)
