"""PIPO: look back whether the last step helped, and repeat it if it did."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method

if TYPE_CHECKING:
    from harness import Batch


@method(
    name="pipo-retro", paper="2604.00860", base="grpo(beta=0)",
    neutral={"least": 0.0, "most": 0.0}, active={"least": 0.5},
)  # fmt: skip
class PIPORetro:
    """When the batch's mean reward rose above its history, the batch before is trained on once more, by how much.

    xi = (mean_b(R) - mean of the last `window` batch means) / their std (n - 1);  phi = clip(xi, least, most).
    First one step on the previous batch with r_i = phi G A_i / sum over its group of |A_j|, ratios to the policy that
    generated it; then the ordinary update. Both are charged; log-probabilities of a step's start are measured before
    (a pass over the batch).

    least, most: 0 and 0.5, the best; a negative `least` also reverses steps that hurt, which was worse.
    State: the history, and the previous batch.
    Edge cases: fewer than two batches before or no spread are no rise, and phi = 0 leaves the ordinary update; a group
    of zeros stays.
    Source: arXiv 2604.00860 and the authors' project page. Confidence: paper (the extra step's learning rate: ours).
    """

    window: int = 8
    least: float = 0.0
    most: float = 0.5

    @hookimpl
    def start(self) -> None:
        """No history."""
        self.history: list[float] = []
        self.previous: list[Batch] = []  # none or one
        self.size = 0.0

    @hookimpl
    def annotate(self, batch: Batch, policy: Any) -> Mapping[str, Tensor]:
        """Nothing, but the log-probabilities of the step's start are known afterwards."""
        if self.most > 0 or self.least < 0:
            policy.evaluate(batch)
        return {}

    @hookimpl(wrapper=True)
    def update(self, learner: Any, batch: Batch) -> Generator[None, Mapping[str, float], Mapping[str, float]]:
        """Look back, then the update below."""
        mean = float(batch.reward.mean()) if len(batch) else 0.0
        self.size = self._rise(mean)
        if self.size and self.previous:
            learner.backward(self._repeated(self.previous[0]))
            learner.step()
        metrics = yield
        self.history = [*self.history, mean][-self.window :]
        if self.most > 0 or self.least < 0:
            self.previous = [learner.with_start(batch)]
        return metrics

    @hookimpl
    def end_step(self) -> Mapping[str, float]:
        """How far the previous batch was repeated."""
        return {"repeated": self.size}

    def _rise(self, mean: float) -> float:
        seen = torch.tensor(self.history, dtype=torch.float64)
        known = len(seen) > 1 and float(seen.std()) > 0
        rise = (mean - float(seen.mean())) / float(seen.std()) if known else 0.0
        return min(max(rise, self.least), self.most)

    def _repeated(self, batch: Batch) -> Batch:
        """The batch with advantages of the same total size in every group."""
        assert batch.advantages is not None
        total = batch.groups.sum(batch.advantage.abs())
        share = batch.groups.count() / torch.where(total > 0, total, torch.ones_like(total))
        return batch.replace(advantages=self.size * share[:, None] * batch.advantages, weights=None)
