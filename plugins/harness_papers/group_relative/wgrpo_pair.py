"""Weighted GRPO with pairs: a rare success beside a rare failure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from harness import Groups, hookimpl, method
from harness.errors import PluginError

if TYPE_CHECKING:
    from harness import Batch


@method(name="wgrpo-pair", paper="2602.03452", base="grpo(beta=0)", experimental=True)
class WGRPOPair:
    """Training on pairs of prompts: one that is rarely solved, one that is rarely failed.

    Steps 0 to explore - 1 take the epoch's prompts and note how often each is solved; from then on every step asks for
    the hardest prompt that was solved and the easiest that was failed (pass rate from 1 - slack / G to 1 - 1 / G), and
    for as many further such pairs as `pairs` says.  R = 1 for right and -wrong for wrong answers, centred in the
    group; norm "pair" divides by the std of the step's rewards (n - 1, + 1e-6), "mean" does not.

    A z-score within the group would cancel `wrong`. explore: the paper measures the rates before training, here they
    are those of the first steps. wrong, slack: not found.
    State: right and all completions of every prompt of the first steps.
    Edge cases: where no prompt is hard or easy the epoch goes on; equal outcomes and groups of one give 0.
    Source: abstract of arXiv 2602.03452 and a note. Confidence: secondary (normaliser reconstructed).
    """

    wrong: float = 1.0
    norm: Literal["mean", "pair"] = "mean"
    pairs: int = 1
    explore: int = 8
    slack: float = 2.0

    def __post_init__(self) -> None:
        """Refuse values that do not exist."""
        if self.norm not in {"mean", "pair"} or self.pairs < 1:
            msg = f"wgrpo-pair(norm={self.norm!r}, pairs={self.pairs}): 'mean' or 'pair', and at least one pair"
            raise PluginError(msg)

    @hookimpl
    def start(self) -> None:
        """No rates yet."""
        self.solved: dict[str, int] = {}
        self.tried: dict[str, int] = {}

    @hookimpl
    def select_prompts(self, pool: Any, count: int, state: Any) -> Sequence[str]:
        """The epoch's prompts, later the pairs."""
        rates = {key: self.solved[key] / tried for key, tried in sorted(self.tried.items())}
        hard = sorted((rate, key) for key, rate in rates.items() if 0 < rate <= 0.5)
        size = state.group_size
        easy = sorted((-rate, key) for key, rate in rates.items() if rate > 0.5 and self._brittle(key, size))
        if state.step < self.explore or not hard or not easy:
            return pool.at_step(state.step, count)
        return [key for pair in zip(hard, easy, strict=False) for _, key in pair][: 2 * self.pairs]

    def _brittle(self, key: str, size: int) -> bool:
        """Whether a pass rate lies from 1 - slack / G to 1 - 1 / G; in whole numbers, as 1 - 1 / G is none."""
        tried = self.tried[key]
        return tried <= size * (tried - self.solved[key]) <= self.slack * tried

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The weighted outcome, centred."""
        outcome = torch.where(batch.correct, 1.0, -self.wrong).to(batch.rewards.dtype)
        apart = batch.groups.center(outcome)
        if self.norm == "mean":
            return apart
        std = Groups(torch.zeros_like(batch.prompt)).std(outcome)
        return torch.where(std > 0, apart / (std + 1e-6), torch.zeros_like(apart))

    @hookimpl
    def end_step(self, state: Any) -> None:
        """Count the first steps' outcomes, of every completion that was sampled."""
        if state.step >= self.explore:
            return
        for record, right in zip(state.gathered.prompts, state.gathered.correct.tolist(), strict=True):
            self.tried[record.key] = self.tried.get(record.key, 0) + 1
            self.solved[record.key] = self.solved.get(record.key, 0) + right
