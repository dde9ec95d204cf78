"""PAPO: an outcome advantage over all, a process advantage among the correct."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness_papers.reward_columns import column, verdict

if TYPE_CHECKING:
    from harness import Batch


@method(name="papo-process", paper="2603.26535", base="grpo(beta=0)", scope="group")
class PAPO:
    """The process score is normalised among the correct completions only, so it can never raise a wrong one.

    A_i = z_g(c)_i + weight z_C(p)_i for i in C, the correct completions of the group; z_g(c)_i for the others.
    c is the task's verdict, p the column `process`, z = (x - mean) / (std + eps), std over n - 1.

    process: a rubric's score of the derivation in the paper; here the first of these columns that the tasks have, of
    which `steps` is the share of right scratchpad steps. The other columns take no part. weight: 1 (0.6 in one of the
    authors' scripts).
    Edge cases: all correct leaves the process part alone, all wrong gives 0; one correct completion, equal scores or a
    task without the column leave the outcome part alone. A correct but poor completion can still get A < 0.
    Source: arXiv 2603.26535, the authors' code. Confidence: code.
    """

    weight: float = 1.0
    process: tuple[str, ...] = ("steps", "quality", "format")
    eps: float = 1e-6

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Outcome plus process."""
        outcome = batch.groups.standardize(verdict(batch), eps=self.eps)
        process = batch.groups.standardize(column(batch, self.process, "papo-process"), batch.correct, self.eps)
        return outcome + self.weight * process * batch.correct
