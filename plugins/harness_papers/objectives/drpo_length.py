"""DRPO: short right completions are pulled harder, and none is pushed away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import group_average, log_sum_exp
from harness_papers.objectives.disco import hinge_kl
from harness_papers.whole_groups import counted

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="drpo-length", paper="2510.04474")
class DRPO:
    """Right completions weigh by a softmax of their brevity, so that brevity never makes a right one negative.

    s_i = mean_t logp;  omega_i = exp((1 - T_i / length) / lam) over the right ones;  for each prompt with both kinds
    J = sum omega s / sum omega - tau ln sum exp(s / tau) over the wrong;  L = -sum J / number of prompts, plus DisCO's
    hinge sg[max(beta (K - delta), 0)] K with K = token mean of logp_old - logp.

    length: by default the most tokens that a completion may have (the authors' code: the padded width). kl: "k3" is
    r - ln r - 1, which the authors' function takes unless it is told otherwise.
    Edge cases: prompts that are all right or all wrong give 0 and stay in the number; lam to infinity is DisCO.
    Not the doubly robust DRPO.
    Source: arXiv 2510.04474 and the authors' code (whose loss has another value and the same gradient).
    Confidence: code.
    """

    lam: float = 0.1
    tau: float = 10.0
    beta: float = 1e3
    delta: float = 1e-4
    length: float | None = None
    kl: str = "k1"

    def __post_init__(self) -> None:
        """Refuse a KL that does not exist."""
        if self.kl not in {"k1", "k3"}:
            msg = f"drpo-length(kl={self.kl!r}): choose k1 or k3"
            raise PluginError(msg)

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """Minus the discrimination."""
        groups, who = batch.groups, counted(batch)
        right, wrong = who & batch.correct, who & ~batch.correct
        score = batch.sequence_mean(output.logp)
        brevity = -batch.lengths.to(score.dtype) / ((self.length or batch.max_tokens) * self.lam)
        weight = (brevity - log_sum_exp(groups, brevity, right)[groups.index]).exp()
        best = groups.sum(weight * score, right, expand=False)
        worst = self.tau * log_sum_exp(groups, score / self.tau, wrong)
        both = groups.any(right, expand=False) & groups.any(wrong, expand=False)
        return group_average(groups, (worst - best) * both, who)

    @hookimpl
    def regularize(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The squared hinge on the KL."""
        return hinge_kl(batch, output, self.beta, self.delta, self.kl)
