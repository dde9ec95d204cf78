"""DS-GRPO: less for a likely success, more for a likely failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness_papers.logps import mean_logp

if TYPE_CHECKING:
    from harness import Batch


@method(
    name="ds-grpo", paper="2511.19942", base="grpo(beta=0)", scope="group",
    neutral={"correct": 0.0, "wrong": 0.0, "population": False},
)  # fmt: skip
class DSGRPO:
    """Differential smoothing: success is worth less where it was likely, failure is worth more where it was likely.

    A_i = (R_i - mean_g(R)) / (std_g(R) + eps), then - correct l_i where R_i > 0 and + wrong l_i where R_i = 0, with
    l_i the mean log-probability per token at the old policy: correct answers spread out, wrong ones are concentrated.

    correct, wrong: 0.05 both, the code's defaults. population: the std over n, as in the code; False: n - 1.
    Edge cases: an all-right or all-wrong group, and a group of one, still get the smoothing term; without both weights,
    and over n - 1, it is GRPO; an empty completion has l = 0.
    Source: arXiv 2511.19942, numbers of the code of the MaxRL authors who compare with it. Confidence: code.
    """

    correct: float = 0.05
    wrong: float = 0.05
    eps: float = 1e-6
    population: bool = True

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The z-score, smoothed."""
        score = batch.groups.standardize(batch.reward, eps=self.eps, correction=0 if self.population else 1)
        likely = mean_logp(batch).to(score.dtype)
        return score + (self.wrong * (batch.reward == 0) - self.correct * (batch.reward > 0)) * likely
