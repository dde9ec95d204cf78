"""DisCO: right completions are scored above wrong ones, inside a KL constraint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import group_average, log_mean_exp, masked
from harness_papers.whole_groups import counted

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

CHOICES = {"scoring": ("logp", "ratio"), "negatives": ("soft", "mean"), "kl": ("k1", "k3")}


def hinge_kl(batch: Batch, output: PolicyOutput, beta: float, delta: float, kind: str = "k1") -> Tensor:
    """sg[max(beta (K - delta), 0)] K, which has the gradient of beta/2 max(K - delta, 0)^2.

    K is the token mean of logp_old - logp (k1) or r - ln r - 1 (k3): the KL from the old policy to the new one.
    """
    terms = -output.log_ratio if kind == "k1" else output.ratio - output.log_ratio - 1
    value = masked(terms, batch.mask).sum() / batch.mask.sum().clamp_min(1)
    return (beta * (value - delta)).clamp_min(0).detach() * value


@method(name="disco", paper="2505.12366")
class DisCO:
    """Right completions are scored above a soft maximum of the wrong ones, while the KL stays below a limit.

    s_i = mean_t logp (scoring "logp") or mean_t r ("ratio");  for each prompt with both kinds
    J = mean of s over the right - tau ln mean exp(s / tau) over the wrong;  L = -sum J / number of prompts, plus
    sg[max(beta (K - delta), 0)] K with K = token mean of logp_old - logp.

    negatives: "mean" instead of the soft maximum is DisCO-b. tau: 10 with logp, 1 with ratio. kl: "k3" is
    r - ln r - 1. Right is the task's verdict.
    Edge cases: prompts that are all right or all wrong give 0 and stay in the number; tau to infinity is DisCO-b.
    Source: arXiv 2505.12366 and the authors' code (whose loss has another value and the same gradient).
    Confidence: code.
    """

    scoring: str = "logp"
    negatives: str = "soft"
    tau: float = 10.0
    beta: float = 1e3
    delta: float = 1e-4
    kl: str = "k1"

    def __post_init__(self) -> None:
        """Refuse values that do not exist."""
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                msg = f"disco({name}={getattr(self, name)!r}): choose {' or '.join(known)}"
                raise PluginError(msg)

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """Minus the discrimination."""
        groups, who = batch.groups, counted(batch)
        right, wrong = who & batch.correct, who & ~batch.correct
        score = batch.sequence_mean(output.logp if self.scoring == "logp" else output.ratio)
        best = groups.mean(score, right, expand=False)
        if self.negatives == "mean":
            worst = groups.mean(score, wrong, expand=False)
        else:
            worst = self.tau * log_mean_exp(groups, score / self.tau, wrong)
        both = groups.any(right, expand=False) & groups.any(wrong, expand=False)
        return group_average(groups, (worst - best) * both, who)

    @hookimpl
    def regularize(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The squared hinge on the KL."""
        return hinge_kl(batch, output, self.beta, self.delta, self.kl)
