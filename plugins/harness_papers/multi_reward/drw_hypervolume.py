"""Dynamic reward weighting by hypervolume: a step counts more after the front of objectives has grown."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING

import torch

from harness import hookimpl, method
from harness.mathematics import hypervolume
from harness_papers.reward_columns import verdict

if TYPE_CHECKING:
    from harness import Batch


@method(
    name="drw-hypervolume",
    paper="2509.11452",
    base="dr-grpo",
    neutral={"low": 1.0, "gain": 0.0},
)
class DRWHypervolume:
    """If the last update extended the Pareto front of the objectives, all rewards of this step count more, else less.

    m = low + gain tanh(HV(front and v) - HV(front)), R_i <- m R_i, with v the vector of objectives after the update and
    HV the volume above the first v ever measured; v joins the front if it adds to it. m = 1 in the first step.

    The objectives are accuracy, brevity 1 - T / max_tokens and, where the tasks have it, the column `form`. The paper
    validates on held-out prompts after every step; here the step's own completions, of prompts not trained on since
    the update, are that measurement, and it is noisier.
    State: front and reference point.
    Edge cases: no growth gives `low`, a large one low + gain. A factor common to all rewards cancels in a z-score (the
    authors' script has one): hence a base that does not divide by a deviation.
    Source: arXiv 2509.11452, the authors' code. Confidence: code.
    """

    low: float = 0.5
    gain: float = 1.5
    form: str = "format"

    @hookimpl
    def start(self) -> None:
        """No front yet."""
        self.reference: tuple[float, ...] | None = None
        self.front: list[tuple[float, ...]] = []
        self.factor = 1.0

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The rewards as they are, with all weights scaled."""
        batch = yield
        self._measure(self.objectives(batch))
        return batch.replace(reward_weights=batch.reward_weights * self.factor)

    @hookimpl
    def end_step(self) -> Mapping[str, float]:
        """The factor, and how many points the front has."""
        return {"reward_factor": self.factor, "front": float(len(self.front))}

    def objectives(self, batch: Batch) -> tuple[float, ...]:
        """Batch means, all to be maximised."""
        means = [verdict(batch).mean(), 1 - batch.lengths.to(batch.rewards.dtype).mean() / max(batch.max_tokens, 1)]
        if self.form in batch.reward_names:
            means.append(batch.rewards[:, batch.reward_names.index(self.form)].nanmean().nan_to_num())
        return tuple(torch.stack(means).tolist())

    def _measure(self, point: tuple[float, ...]) -> None:
        """Set the factor by what the point adds, and add it."""
        if self.reference is None:
            self.reference = point
            return
        before = hypervolume(self.front, self.reference)
        growth = max(0.0, hypervolume([*self.front, point], self.reference) - before)
        self.factor = self.low + self.gain * math.tanh(growth)
        if growth > 0:
            kept = [old for old in self.front if any(x > y for x, y in zip(old, point, strict=True))]
            self.front = [*kept, point]
