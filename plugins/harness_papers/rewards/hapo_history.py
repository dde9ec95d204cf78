"""HAPO: lengths judged by the shortest correct answer known so far."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from harness import Groups, hookimpl, method

if TYPE_CHECKING:
    from harness import Batch

WORST = -0.7  # what a correct answer can lose at most
SLACK = 1.1  # of the linear form: that much longer than the record costs nothing


@method(name="hapo-history", paper="2505.11225", base="grpo(beta=0)", neutral={"weight": 0.0})
class HAPO:
    """Beating the shortest correct answer that the prompt ever had earns a bonus, exceeding it costs.

    f_i = cos(min(T_i / h, 2) pi / 2), h the prompt's record;  R_i += weight * max(-0.7, f_i) if correct, else
    weight * min(0, f_i); nothing on the first visit. After the step h <- min(h, shortest correct T).

    shape: "linear", the code's other form: correct 1 - T/h below h, 0 up to 1.1 h, then -(T - 1.1 h)/h, at worst -0.7;
    wrong 0 up to 1.1 h, then at worst -1. mode: "mean" keeps the mean of all correct lengths instead of the least.
    State: the history of every prompt.
    Edge cases: short wrong answers are not punished; with weight 1 the worst correct one (0.3) beats every wrong one.
    Source: arXiv 2505.11225, the authors' code. Confidence: code.
    """

    weight: float = 1.0
    mode: Literal["min", "mean"] = "min"
    shape: Literal["cosine", "linear"] = "cosine"

    @hookimpl
    def start(self) -> None:
        """No prompt has been solved."""
        self.history: dict[str, tuple[float, int]] = {}  # length, and of how many

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The bonus as a column; then the record."""
        batch = yield
        if not self.weight:
            return batch
        prompts = Groups(batch.prompt)
        keys = [batch.prompts[row].key for row in prompts.first.tolist()]
        known = [self.history.get(key, (math.nan, 0))[0] for key in keys]
        lengths = batch.lengths.to(batch.rewards.dtype)
        bonus = self._bonus(lengths / lengths.new_tensor(known)[prompts.index], batch.correct)
        self._remember(keys, prompts, lengths, batch.correct)
        return batch.add_reward("history", bonus.nan_to_num(), self.weight)

    @hookimpl
    def end_step(self) -> Mapping[str, float]:
        """How many prompts have a record."""
        return {"prompts_solved": float(len(self.history))}

    def _bonus(self, ratio: Tensor, correct: Tensor) -> Tensor:
        """[N] from the length over the record; NaN without one."""
        if self.shape == "cosine":
            curve = (ratio.clamp_max(2) * math.pi / 2).cos()
            return torch.where(correct, curve.clamp_min(WORST), curve.clamp_max(0))
        excess = (SLACK - ratio).clamp_max(0)
        right = torch.where(ratio < 1, 1 - ratio, excess.clamp_min(WORST))
        return torch.where(correct, right, excess.clamp_min(-1))

    def _remember(self, keys: list[str], prompts: Groups, lengths: Tensor, correct: Tensor) -> None:
        """Take this step's correct lengths into the history."""
        count = prompts.count(correct, expand=False).tolist()
        least = prompts.min(lengths, correct, expand=False).tolist()
        total = prompts.sum(lengths, correct, expand=False).tolist()
        for key, new, shortest, added in zip(keys, count, least, total, strict=True):
            if not new:
                continue
            old, before = self.history.get(key, (math.inf, 0))
            mean = (added + (old * before if before else 0)) / (before + new)
            self.history[key] = (min(old, shortest) if self.mode == "min" else mean, before + new)
