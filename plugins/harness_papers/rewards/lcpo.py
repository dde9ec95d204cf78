"""L1: completions of the length that the prompt asks for."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from harness import hookimpl, method
from harness_papers.reward_columns import in_place, verdict

if TYPE_CHECKING:
    from harness import Batch


@method(name="lcpo", paper="2503.04697", base="grpo(beta=0)")
class LCPO:
    """The prompt states a token budget, drawn anew each time, and the reward pays for keeping to it.

    mode exact: R_i = c_i - alpha |n - T_i|, for wrong answers too;
    max: R_i = c_i clip(alpha (n - T_i) + delta, 0, 1);
    max_added: R_i = c_i + (clip(alpha (n - T_i), -1, 1) + 1) / 2 (the released code, wrong answers too).
    c is the task's verdict; the task's other columns take no part.

    n is uniform from `shortest` to `longest` times the suite's max_tokens (100 to 4000 of about 4000 in the paper).
    alpha: 0.0003 a token at that length; at 40 tokens the like is 0.03. template: how the budget is put into the
    prompt; the paper appends "Think for {n} tokens." Evaluations have the plain prompt.
    Edge cases: exact lets a wrong answer of the right length beat a right one only for |n - T| > 1 / alpha.
    Source: arXiv 2503.04697; the authors' scripts leave all of this off by default. Confidence: code.
    """

    mode: Literal["exact", "max", "max_added"] = "exact"
    alpha: float = 0.0003
    delta: float = 0.5
    shortest: float = 0.025
    longest: float = 1.0
    template: str = "{n};{prompt}"

    @hookimpl
    def start(self) -> None:
        """No budgets yet."""
        self.budgets: dict[str, int] = {}  # of this step's prompts

    @hookimpl(wrapper=True)
    def allocate_rollouts(self, state: Any) -> Generator[None, Sequence[Any], Sequence[Any]]:
        """The same requests, with a budget in their prompts."""
        requests = yield
        low, high = (max(1, round(share * state.max_tokens)) for share in (self.shortest, self.longest))
        drawn = torch.randint(low, max(low, high) + 1, (len(requests),), generator=state.generator).tolist()
        return [self._ask(request, n, state) for request, n in zip(requests, drawn, strict=True)]

    @hookimpl(wrapper=True)
    def generate(self) -> Generator[None, Any, Any]:
        """The budget of every completion, NaN for a prompt that was given none."""
        rollouts = yield
        asked = [float(self.budgets.get(request.key, math.nan)) for request in rollouts.requests]
        budget = rollouts.logp.new_tensor(asked)[rollouts.index]
        return rollouts.replace(extras={**rollouts.extras, "budget": budget})

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """Correctness and distance from the budget, in place of the task's columns."""
        batch = yield
        right, gap = verdict(batch), self._left(batch)
        if self.mode == "exact":
            return in_place(batch, "budget", right - self.alpha * gap.abs())
        if self.mode == "max":
            return in_place(batch, "budget", right * (self.alpha * gap + self.delta).clamp(0, 1))
        return in_place(batch, "budget", right + ((self.alpha * gap).clamp(-1, 1) + 1) / 2)

    def _ask(self, request: Any, n: int, state: Any) -> Any:
        n = self.budgets.setdefault(request.key, n)  # a prompt keeps its budget through the rounds of a step
        text = self.template.format(n=n, prompt=state.pool.problem(request.key).prompt)
        return dataclasses.replace(request, prompt_ids=state.request(request.key, text=text).prompt_ids)

    def _left(self, batch: Batch) -> Tensor:
        """[N] budget minus length; 0 for a row that was given none."""
        lengths = batch.lengths.to(batch.rewards.dtype)
        budgets = batch.extras.get("budget", batch.lengths).to(lengths)
        return torch.where(budgets.isnan(), torch.zeros_like(lengths), budgets - lengths)

    @hookimpl
    def end_step(self) -> dict[str, float]:
        """Forget the step's budgets."""
        mean = sum(self.budgets.values()) / max(len(self.budgets), 1)
        self.budgets = {}
        return {"budget": mean}
