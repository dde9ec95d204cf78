"""What an evaluation says, and the estimator behind pass@k."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from harness.errors import UsageError

__all__ = ["METRICS", "EvalReport", "pass_at_k"]

METRICS = ("accuracy", "pass_at_1", "pass_at_k", "strict", "length", "truncated")


@dataclasses.dataclass(frozen=True)
class EvalReport:
    """An evaluation of one policy.

    `tasks[name]`: accuracy (greedy), pass_at_1 and pass_at_k (sampled), k, length (mean tokens of the samples, end
    token included), truncated (their share cut at the limit), problems (how many). Where the task asks for a form of
    answers: strict (pass_at_1 of those that are right and have it). Where there are any: shortened (prompts that left
    no room for an answer), timeouts (answers that could not be compared in time, wrong), failed (answers on which the
    verifier gave no verdict, wrong). `items`: a dict per problem with task, key, greedy (bool), correct_samples,
    samples, text (of the greedy answer, shortened). `examples`: a few completions with their texts. `others`: what was
    measured on tasks that are not trained on, a dict per number with task, metric, value, stderr, problems; no part of
    the score.
    """

    tasks: Mapping[str, Mapping[str, float]]
    items: Sequence[Mapping[str, Any]] = ()
    examples: Sequence[Mapping[str, Any]] = ()
    others: Sequence[Mapping[str, Any]] = ()

    @property
    def score(self) -> float:
        """The mean over tasks of pass@1."""
        return math.fsum(row["pass_at_1"] for row in self.tasks.values()) / len(self.tasks)

    def summary(self) -> dict[str, Any]:
        """Tasks and score, as JSON."""
        others = {"others": [dict(row) for row in self.others]} if self.others else {}
        return {"tasks": {name: dict(row) for name, row in self.tasks.items()}, "score": self.score} | others


def pass_at_k(samples: int, correct: int, k: int) -> float:
    """The unbiased estimate of the chance that one of k samples is right, from `correct` of `samples`.

    1 - C(n - c, k) / C(n, k) (Chen et al., arXiv:2107.03374), as a product so that nothing overflows. Raises UsageError
    for n < k, where no unbiased estimate exists.
    """
    if not 1 <= k <= samples:
        raise UsageError(
            f"pass@{k} needs at least {max(k, 1)} samples a problem and got {samples}; raise samples or lower k"
        )
    if not 0 <= correct <= samples:
        raise UsageError(f"pass@{k}: {correct} correct of {samples} samples")
    if samples - correct < k:
        return 1.0
    return 1.0 - math.prod(1.0 - k / i for i in range(samples - correct + 1, samples + 1))
