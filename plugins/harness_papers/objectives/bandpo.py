"""BandPO: clip bounds that depend on the token's probability."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import Divergence, masked, ppo_clip_loss, ratio_band

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="bandpo", paper="2603.04918", base="grpo(beta=0)", clips=True, scope="group")
class BandPO:
    """Each token's clip range is what a divergence ball around the old policy allows: wide for rare tokens.

    With p = pi_old: [low, high] solve p f(r) + (1 - p) f((1 - r p) / (1 - p)) = delta on [0, 1] and [1, 1/p];  token
    loss max(-r A, -clip(r, low, high) A), dual clip at `dual` |A|.

    divergence: "kl" (by bisection), "tv" (1 -+ delta / p) or "chi2" (1 -+ sqrt(delta (1 - p) / p)). relax_low,
    relax_high: bounds at least as wide as these, 0.2 and 0.28 by default in the authors' function, off in their script.
    Edge cases: A = 0 gives 0; high is at most 100 and 1 / p; p = 1 leaves [e^-delta, 1] (kl).
    Source: arXiv 2603.04918 and the authors' code. Confidence: code.
    """

    delta: float = 0.05
    divergence: Divergence = "kl"
    dual: float | None = 10.0
    relax_low: float = 0.0
    relax_high: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a divergence that does not exist."""
        if self.divergence not in {"kl", "tv", "chi2"}:
            msg = f"bandpo(divergence={self.divergence!r}): choose kl, tv or chi2"
            raise PluginError(msg)

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The clipped surrogate between the token's own bounds."""
        assert batch.advantages is not None
        low, high = ratio_band(masked(output.logp_old, batch.mask).exp(), self.delta, self.divergence)
        below, above = (1 - low).clamp_min(self.relax_low), (high - 1).clamp_min(self.relax_high)
        return ppo_clip_loss(output.ratio, batch.advantages, below, above, self.dual)
