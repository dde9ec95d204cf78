"""DAPO's soft overlong punishment, by itself."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from harness import hookimpl, method
from harness.mathematics import soft_overlong

if TYPE_CHECKING:
    from harness import Batch


@method(paper="2503.14476", base="grpo(beta=0)", scope="group", neutral={"weight": 0.0})
class OverlongPenalty:
    """A linear penalty over the last tokens before the length limit, in place of a cliff at it.

    R_i += weight * (0 if T <= L - C, ((L - C) - T) / C if T <= L, -1 beyond), as a column of its own.

    buffer: C as a share of L; 4096 of 20480 tokens in the paper. limit: L in tokens, by default the suite's. floor:
    False lets the line go on beyond L (verl, AReaL), which matters only where completions can be longer.
    Edge cases: a completion cut off at L gets -1; a buffer of 0 is no penalty. Leaving truncated completions out of the
    loss is another option of the paper, `dapo(drop_truncated=True)`.
    Source: arXiv 2503.14476 (equation 13), TRL, verl. Confidence: code.
    """

    weight: float = 1.0
    buffer: float = 0.2
    limit: int | None = None
    floor: bool = True

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The punishment as a column."""
        batch = yield
        if not self.weight:
            return batch
        limit = batch.max_tokens if self.limit is None else self.limit
        lengths = batch.lengths.to(batch.rewards.dtype)
        penalty = soft_overlong(lengths, limit, self.buffer * limit, floor=self.floor)
        return batch.add_reward("overlong_penalty", penalty, self.weight)
