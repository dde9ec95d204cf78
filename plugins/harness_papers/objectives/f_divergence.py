"""f-GRPO and f-HAL: a variational f-divergence between better and worse completions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from torch import Tensor
from torch.nn import functional

from harness import hookimpl, method
from harness.errors import PluginError
from harness_papers.whole_groups import completion_log_ratio, counted

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

DIVERGENCES = ("kl", "js", "chi2")
LIMIT = 20.0  # of an exponent


def raised(u: Tensor, kind: str) -> Tensor:
    """g(u): the link into the domain of the conjugate, for u that is to be large. KL 1 + u, JS ln 2 - softplus(-u)."""
    if kind == "js":
        return math.log(2) - functional.softplus(-u)
    return 1 + u if kind == "kl" else u


def lowered(u: Tensor, kind: str) -> Tensor:
    """f*(g(u)): the conjugate, for u that is to be small. KL e^u, JS -ln(2 - e^g(u)), Pearson u^2 / 4 + u."""
    if kind == "kl":
        return u.clamp_max(LIMIT).exp()
    if kind == "js":
        return functional.softplus(u) - math.log(2)  # 2 - 2 sigmoid(u) = 2 sigmoid(-u)
    return u.square() / 4 + u


@method(name="f-div-grpo", paper="2602.05946", base="grpo(beta=0)", needs={"reference"}, experimental=True)
class FDivGRPO:
    """Better completions are told from worse ones by the variational estimate of an f-divergence.

    u_i = beta sum_t (logp - logp_ref), A = GRPO's advantage;  L = mean over completions of -A+ g(u) + A- f*(g(u)),
    with A+ = max(A, 0), A- = max(-A, 0), f* the convex conjugate of f and g a link into its domain.

    divergence: "kl", "js" or "chi2" (Pearson). normalize: u over the length. The paper ("f-GRPO and beyond") was seen
    as an abstract; estimator and signs are ours.
    Edge cases: A = 0 gives 0. At u = 0 the gradient is that of GRPO's policy gradient (half of it for js). Not F-GRPO,
    the focal weight (`f-grpo`).
    Source: arXiv 2602.05946, the abstract, and known duals of f-divergences. Confidence: abstract (reconstructed).
    """

    divergence: str = "js"
    beta: float = 0.1
    normalize: bool = False

    def __post_init__(self) -> None:
        """Refuse a divergence that does not exist."""
        if self.divergence not in DIVERGENCES:
            msg = f"{type(self).__name__}(divergence={self.divergence!r}): choose {', '.join(DIVERGENCES)}"
            raise PluginError(msg)

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The weighted variational terms."""
        who = counted(batch)
        return (self._terms(batch, output, batch.advantage) * who).sum() / who.sum().clamp_min(1)

    def _terms(self, batch: Batch, output: PolicyOutput, signal: Tensor) -> Tensor:
        """[N] what every completion adds, for a signal [N]: above 0 is better."""
        u = self.beta * completion_log_ratio(batch, output, "reference", normalize=self.normalize)
        better, worse = signal.clamp_min(0), (-signal).clamp_min(0)
        return worse * lowered(u, self.divergence) - better * raised(u, self.divergence)


@method(name="f-hal", paper="2602.05946", neutral={"lam": 1.0}, neutral_to="f-div-grpo")
class FHAL(FDivGRPO):
    """f-divergence GRPO mixed with the same estimate on pairs: the best of a group is chosen, the worst rejected.

    L = lam L(A = GRPO's advantage) + (1 - lam) L(A = +1 for the best, -1 for the worst of a group, 0 else).

    The paper's second term is on offline preference data; here the pairs come from the group, by reward. divergence,
    beta and normalize are those of `f-div-grpo`.
    Edge cases: equal rewards have no pair; lam = 1 is `f-div-grpo`. Tied rows share one weight.
    Source: arXiv 2602.05946, the abstract. Confidence: abstract (reconstructed).
    """

    lam: float = 0.5

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """Both terms."""
        groups, who = batch.groups, counted(batch)
        best = who & (batch.reward == groups.max(batch.reward, who))
        worst = who & (batch.reward == groups.min(batch.reward, who))
        pair = best / groups.count(best).clamp_min(1) - worst / groups.count(worst).clamp_min(1)
        mixed = self.lam * self._terms(batch, output, batch.advantage)
        mixed = mixed + (1 - self.lam) * self._terms(batch, output, pair)
        return (mixed * who).sum() / who.sum().clamp_min(1)
