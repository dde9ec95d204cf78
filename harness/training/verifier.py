"""A verifier that errs: verdicts flipped with a fixed probability, the same ones for every method.

Real verifiers are wrong now and then (a parser that misses an answer, a judge). Under `verifier: {flip: 0.2}` every
method trains on such verdicts; evaluation knows the truth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness.policies.noise import key64, uniforms
from harness.tasks.mixture import Completions, Mixture

if TYPE_CHECKING:
    from harness.training.state import State

__all__ = ["ErringVerifier"]


class ErringVerifier(Mixture):
    """The tasks of a trial, with the verdict column of each flipped on a share of the completions.

    Which ones is keyed by (seed, step, round, prompt, rollout), as sampling noise is. A flipped verdict is 1 or 0;
    columns that are not a verdict (format, brevity, partial credit) stay.
    """

    def __init__(self, task: Mixture, flip: float, state: State) -> None:
        self.__dict__.update(vars(task))
        self._flip, self._state = flip, state

    def score(self, rollouts: Completions) -> dict[str, Tensor]:
        """The tasks' columns, some verdicts flipped."""
        columns = super().score(rollouts)
        wrong = self._wrong(rollouts)
        for task in self.tasks.values():
            verdict = columns[task.correct_column]
            turned = (verdict <= task.correct_threshold).to(verdict.dtype)
            columns[task.correct_column] = torch.where(wrong & ~verdict.isnan(), turned, verdict)
        return columns

    def _wrong(self, rollouts: Completions) -> Tensor:
        """[M] bool: whose verdict is flipped."""
        state, index = self._state, rollouts.index
        keys = [key64(request.key) for request in rollouts.requests]
        hashes = torch.tensor(keys, dtype=torch.long, device=index.device)[index]
        place = torch.zeros_like(index)
        drawn = uniforms(state.seed, state.step, state.round, hashes, rollouts.rollout, place, stream="verifier")
        return drawn < self._flip
