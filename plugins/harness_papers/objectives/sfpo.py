"""SFPO: look ahead on the batch, pull back, then step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from harness import hookimpl, method
from harness.mathematics import masked

if TYPE_CHECKING:
    from harness import Batch


@method(paper="2510.04072", base="grpo(beta=0)", needs={"entropy"}, neutral={"fast": 0})
class SFPO:
    """A few fast passes over the batch, a return part of the way, and one slow pass from there.

    th_K = th_0 after K passes over the batch;  th <- th_0 + alpha (th_K - th_0);  one more pass. Old log-probabilities
    stay those of th_0; the optimizer's moments are shared by fast and slow passes and never reset. All K + 1 passes
    are charged.

    Stop rule: with the mean entropies of the last `window` steps, once (H_last - mean) / (std + 1e-9) >= threshold,
    std over n, the method switches itself off for good and updates plainly.
    Edge cases: fast = 0 is the plain update; alpha = 1 is fast + 1 plain passes.
    Source: arXiv 2510.04072 and the authors' code (alpha 0.9 for one model). Confidence: code.
    """

    fast: int = 3
    alpha: float = 0.8
    window: int = 30
    threshold: float = 1.0

    @hookimpl
    def start(self) -> None:
        """No entropies yet."""
        self.entropies: list[float] = []
        self.stopped = False

    @hookimpl
    def update(self, learner: Any, batch: Batch) -> Mapping[str, float]:
        """Fast passes, reposition, slow pass."""
        self._watch(batch)
        if self.fast and not self.stopped:
            with learner.tentative() as origin:  # a budget that ends in between leaves no look-ahead behind
                for _ in range(self.fast):
                    learner.epoch(batch)
                learner.interpolate(origin, self.alpha)
        return {**learner.epoch(batch), "sfpo_stopped": float(self.stopped)}

    def _watch(self, batch: Batch) -> None:
        """Note the batch's mean entropy and switch off once it stands out of a full window."""
        if batch.entropy is None:
            return
        mean = masked(batch.entropy, batch.mask).sum() / batch.mask.sum().clamp_min(1)
        self.entropies = [*self.entropies, float(mean)][-self.window :]
        seen = torch.tensor(self.entropies, dtype=torch.float64)
        if len(seen) == self.window and self.window > 1:
            self.stopped |= bool((seen[-1] - seen.mean()) / (seen.std(correction=0) + 1e-9) >= self.threshold)
