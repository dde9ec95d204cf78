"""A KL penalty in the loss, to stand beside any policy loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import KLKind, kl_estimate, masked

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

KINDS = tuple(kind + plus for kind in get_args(KLKind) for plus in ("", "+"))
WEIGHTS = ("none", "ratio", "score")


@method(
    name="kl",
    base="grpo(beta=0)",
    needs=lambda m: {"reference"} if m.beta else set(),
    neutral={"beta": 0.0},
    scope="group",
)
class KL:
    """The distance to the reference policy is a price per token, with the weights of the loss.

    beta times an estimate of KL(pi || pi_ref) from the sampled token, with x = logp - logp_ref.

    kind: k1 = x, k2 = x^2 / 2, k3 = exp(-x) - 1 + x, abs = |x|, low_var = k3 cut off at 10. As a loss k1 teaches
    nothing on average, k2 has the gradient of the reverse and k3 that of the forward KL; a plus ("k3+") means the value
    of that estimate with the gradient of k2 (verl). limit: the term is cut off at -+limit, without gradient beyond
    (NeMo: 10 for all kinds). weight: "ratio" multiplies by pi / pi_old with its gradient, which makes k3 unbiased
    off-policy (TRL, slime, arXiv 2512.02556), up to weight_cap (Trinity: 2); "score" multiplies by pi / sg[pi], which
    adds the score-function gradient (NeMo).
    Edge cases: equal policies give 0; k1 can be negative.
    Source: Schulman, "Approximating KL divergence" (2020); verl, NeMo, slime, TRL, Trinity. Confidence: code.
    """

    beta: float = 0.04
    kind: str = "k3"
    limit: float | None = None
    weight: str = "none"
    weight_cap: float | None = None

    def __post_init__(self) -> None:
        """Refuse choices that do not exist."""
        for name, value, known in (("kind", self.kind, KINDS), ("weight", self.weight, WEIGHTS)):
            if value not in known:
                raise PluginError(f"kl({name}={value!r}): choose {', '.join(known)}")

    @hookimpl
    def regularize(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The weight beta times the estimate of every token."""
        if not self.beta:
            return output.logp.new_zeros(())
        if batch.logp_ref is None:
            raise PluginError("kl(beta > 0) needs batch.logp_ref, the reference's log-probabilities")
        term = self._weighted(self._estimate(output.logp, batch.logp_ref), output)
        term = term if self.limit is None else term.clamp(-self.limit, self.limit)
        return self.beta * masked(term, batch.mask)

    def _estimate(self, logp: Tensor, logp_ref: Tensor) -> Tensor:
        plain: KLKind = self.kind.removesuffix("+")  # type: ignore[assignment]
        value = kl_estimate(logp, logp_ref, plain)
        if not self.kind.endswith("+"):
            return value
        through = kl_estimate(logp, logp_ref, "k2")
        return through + (value - through).detach()

    def _weighted(self, term: Tensor, output: PolicyOutput) -> Tensor:
        if self.weight == "none":
            return term
        weight = output.ratio if self.weight == "ratio" else (output.logp - output.logp.detach()).exp()
        return term * (weight if self.weight_cap is None else weight.clamp_max(self.weight_cap))
