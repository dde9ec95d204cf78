"""DDCA: brevity is judged among correct completions only, scaled by the pass rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from torch import Tensor

from harness import hookimpl, method
from harness_papers.reward_columns import verdict

if TYPE_CHECKING:
    from harness import Batch

LIMIT = 20.0  # of the z-score, as in the authors' code


@method(paper="2602.02099", base="grpo(beta=0)", scope="group")
class DDCA:
    """An accuracy advantage over the group plus a zero-sum brevity advantage among its correct completions.

    A_i = (c_i - mean_g(c)) / (std_g(c) + eps) + beta A_len,i;  for the correct, z = (T_i - mean) / (std + eps) over the
    group's correct ones, s_i = sigmoid(z_i), A_len,i = -p (s_i - mean of s over the correct), p the pass rate; 0 for
    wrong ones. All std over n.

    dynamic: False drops p (the authors' DCA). baseline: "others" compares both parts with the mean of the other
    completions, without a std (their RLOO form). The task's other columns take no part.
    Edge cases: all wrong gives 0; all correct leaves the length part; one correct completion, or equal lengths, give
    length part 0; in a mixed group a correct one stays above 0 as long as beta p <= sqrt((1 - p) / p).
    Source: arXiv 2602.02099, the authors' code (their README has the sign of s the other way round). Confidence: code.
    """

    beta: float = 0.2
    dynamic: bool = True
    baseline: Literal["group", "others"] = "group"
    eps: float = 1e-8

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Accuracy plus brevity."""
        groups, right, correct = batch.groups, verdict(batch), batch.correct
        lengths = batch.lengths.to(right.dtype)
        scored = groups.standardize(lengths, correct, self.eps, correction=0).clamp(-LIMIT, LIMIT).sigmoid()
        if self.baseline == "others":
            accuracy = right - groups.leave_one_out_mean(right)
            brevity = groups.leave_one_out_mean(scored, correct) - scored
        else:
            accuracy = groups.standardize(right, eps=self.eps, correction=0)
            brevity = -groups.center(scored, correct)
        return accuracy + self.beta * brevity * correct * (groups.mean(right) if self.dynamic else 1)
