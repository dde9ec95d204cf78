"""HAPO: lengths judged by the shortest correct answer known so far."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Literal

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
    def generate(self) -> Generator[None, Any, Any]:
        """Every completion's record to beat, NaN where there is none: all of a step see the same history."""
        rollouts = yield
        known = [self.history.get(request.key, (math.nan, 0))[0] for request in rollouts.requests]
        record = rollouts.logp.new_tensor(known)[rollouts.index]
        return rollouts.replace(extras={**rollouts.extras, "record": record})

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The bonus as a column."""
        batch = yield
        if not self.weight or "record" not in batch.extras:
            return batch
        ratio = batch.lengths.to(batch.rewards.dtype) / batch.extras["record"].clamp_min(1)
        return batch.add_reward("history", self._bonus(ratio, batch.correct).nan_to_num(), self.weight)

    @hookimpl
    def end_step(self, state: Any) -> Mapping[str, float]:
        """Take the step's correct lengths into the history, those of dropped rows too."""
        sampled: Batch = state.gathered
        prompts = Groups(sampled.prompt)
        keys = [sampled.prompts[row].key for row in prompts.first.tolist()]
        lengths, correct = sampled.lengths.to(sampled.rewards.dtype), sampled.correct
        count = prompts.count(correct, expand=False).tolist()
        least = prompts.min(lengths, correct, expand=False).tolist()
        total = prompts.sum(lengths, correct, expand=False).tolist()
        for key, new, shortest, added in zip(keys, count, least, total, strict=True):
            if new:
                self._remember(key, new, shortest, added)
        return {"prompts_solved": float(len(self.history))}

    def _remember(self, key: str, new: int, shortest: float, added: float) -> None:
        """The prompt has `new` more correct completions, of `added` tokens in all."""
        old, before = self.history.get(key, (0.0, 0))
        least = min(old, shortest) if before else shortest
        self.history[key] = (least if self.mode == "min" else (added + old * before) / (before + new), before + new)

    def _bonus(self, ratio: Tensor, correct: Tensor) -> Tensor:
        """[N] from the length over the record; NaN without one."""
        if self.shape == "cosine":
            curve = (ratio.clamp_max(2) * math.pi / 2).cos()
            return torch.where(correct, curve.clamp_min(WORST), curve.clamp_max(0))
        excess = (SLACK - ratio).clamp_max(0)
        right = torch.where(ratio < 1, 1 - ratio, excess.clamp_min(WORST))
        return torch.where(correct, right, excess.clamp_min(-1))
