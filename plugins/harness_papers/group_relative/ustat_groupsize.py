"""The group size that a U-statistic calls for."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Generator, Sequence
from typing import Any

from harness import hookimpl, method
from harness.errors import PluginError


@method(name="ustat-groupsize", paper="2603.01162", base="rloo(beta=0)")
class UStatGroupSize:
    """For a fixed number of completions, groups as large as the noise between prompts and within them calls for.

    With the leave-one-out baseline the gradient of a group is a U-statistic of order 2 of differences of rewards.
    With N = B G completions its error is (G / N) between + c / N + within / (N G), least at G = sqrt(within / between),
    whatever N is and however long training takes. A step asks for N / G prompts with G completions each.

    between, within: the two constants (variance of the true gradient between prompts; the second-order term); the
    paper fits them to the error at a few G. The defaults, ours, call for 8.
    Edge cases: at least 2 completions, at most N; N that G does not divide is rounded down to whole groups.
    Source: the paper's text. Confidence: paper.
    """

    between: float = 1.0
    within: float = 64.0

    def __post_init__(self) -> None:
        """Refuse constants that give no size."""
        if not (self.between > 0 and self.within > 0):
            msg = f"ustat-groupsize(between={self.between}, within={self.within}): both must be positive"
            raise PluginError(msg)

    @hookimpl
    def select_prompts(self, pool: Any, count: int, state: Any) -> Sequence[str]:
        """As many prompts of the epoch as `count` groups of the suite's size have completions for."""
        return pool.at_step(state.step, max(count * state.group_size // self._size(count, state), 1))

    @hookimpl(wrapper=True)
    def allocate_rollouts(self, state: Any) -> Generator[None, Sequence[Any], Sequence[Any]]:
        """Every group as large as called for."""
        requests = yield
        size = self._size(state.prompts_per_step, state)
        return [dataclasses.replace(request, n=size) for request in requests]

    def _size(self, count: int, state: Any) -> int:
        return min(max(round(math.sqrt(self.within / self.between)), 2), max(count * state.group_size, 1))
