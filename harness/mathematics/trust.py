"""How far a token's probability may move: penalties and bounds in place of one clip range for all tokens."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from harness.mathematics.masks import masked

__all__ = [
    "Divergence", "binary_divergence", "moment_bound", "moment_keep", "quadratic_penalty_loss", "ratio_band",
]  # fmt: skip

Divergence = Literal["tv", "kl", "chi2"]

GUARD = 1e-8  # in the logarithm of what is left over
EDGE = 1e-6  # probabilities nearer to 0 or 1 have closed bounds
WIDEST = 100.0  # no ratio bound lies beyond
BISECTIONS = 50


def quadratic_penalty_loss(ratio: Tensor, advantages: Tensor, eps: float = 0.2) -> Tensor:
    """-(r A - |A| (r - 1)^2 / (2 eps)), elementwise: least at r = 1 + sign(A) eps, and pulling back beyond."""
    return advantages.abs() * (ratio - 1).square() / (2 * eps) - ratio * advantages


def binary_divergence(logp: Tensor, logp_old: Tensor, kind: Divergence = "tv") -> Tensor:
    """Divergence of "this token" and "any other" between the old and the new policy, elementwise.

    tv: |p - p_old|; kl: p_old ln(p_old / p) + (1 - p_old) ln((1 - p_old + 1e-8) / (1 - p + 1e-8)).
    """
    new, old = logp.exp(), logp_old.exp()
    if kind == "tv":
        return (new - old).abs()
    if kind == "kl":
        return old * (logp_old - logp) + (1 - old) * ((1 - old + GUARD) / (1 - new + GUARD)).log()
    msg = f"unknown binary divergence {kind!r}; choose tv or kl"
    raise ValueError(msg)


def ratio_band(old: Tensor, delta: float, kind: Divergence = "kl") -> tuple[Tensor, Tensor]:
    """The bounds of a token's ratio inside an f-divergence ball around the old policy: (low, high), like `old`.

    `old` is the token's old probability. The bounds solve p f(r) + (1 - p) f((1 - r p) / (1 - p)) = delta, where
    f(u) is u - ln u - 1 (kl), |u - 1| / 2 (tv) or (u - 1)^2 (chi2); they lie in [0, 1] and [1, 1/p], at most 100.
    """
    top = old.clamp_min(torch.finfo(old.dtype).tiny).reciprocal()
    if kind == "kl":
        low, high = _kl_band(old.clamp(EDGE, 1 - EDGE), delta)
        low = torch.where(old > 1 - EDGE, torch.full_like(old, -delta).exp(), low)
        low = torch.where(old < EDGE, torch.zeros_like(old), low)
        high = torch.where(old > 1 - EDGE, torch.ones_like(old), high)
        high = torch.where(old < EDGE, top, high)
    elif kind in {"tv", "chi2"}:
        width = delta * top if kind == "tv" else (delta * (1 - old).clamp_min(0) * top).sqrt()
        low, high = 1 - width, 1 + width
    else:
        msg = f"unknown divergence {kind!r}; choose kl, tv or chi2"
        raise ValueError(msg)
    return low.clamp_min(0), torch.minimum(high, top).clamp(1, WIDEST)


def _kl_band(p: Tensor, delta: float) -> tuple[Tensor, Tensor]:
    """Bisection on [0, 1] and [1, 1/p]; the divergence is infinite at 0 and 1/p."""

    def divergence(r: Tensor) -> Tensor:
        return -p * r.log() - (1 - p) * ((1 - r * p) / (1 - p)).log()  # the linear terms of f cancel

    inside_low, outside_low = torch.ones_like(p), torch.zeros_like(p)
    inside_high, outside_high = torch.ones_like(p), p.reciprocal()
    for _ in range(BISECTIONS):
        low, high = (inside_low + outside_low) / 2, (inside_high + outside_high) / 2
        fits_low, fits_high = divergence(low) <= delta, divergence(high) <= delta
        inside_low, outside_low = torch.where(fits_low, low, inside_low), torch.where(fits_low, outside_low, low)
        inside_high, outside_high = (
            torch.where(fits_high, high, inside_high),
            torch.where(fits_high, outside_high, high),
        )
    return inside_low, inside_high


def moment_keep(log_ratio: Tensor, mask: Tensor, budget: float) -> Tensor:
    """[N, T] bool: the tokens that stay when the largest log_ratio^2 leave until the mean of the rest is < budget.

    At least one of the tokens of the mask stays; equal ones leave in the order of the rows.
    """
    on = mask > 0
    square = torch.where(on, log_ratio.square(), torch.full_like(log_ratio, float("inf"))).reshape(-1)
    ordered, order = square.sort(stable=True)
    places = torch.arange(1, len(ordered) + 1, device=square.device)
    kept = ((ordered.cumsum(0) / places < budget) & ordered.isfinite()) | ((places == 1) & ordered.isfinite())
    return torch.zeros_like(on).reshape(-1).index_copy(0, order, kept).reshape(mask.shape)


def moment_bound(log_ratio: Tensor, where: Tensor, budget: float) -> Tensor:
    """A scalar t: capping |log_ratio| at t brings the mean square over `where` within the budget; inf if it is.

    t is a hair below the largest of the values that does, so that its own token is capped too (the authors of M2PO
    take 1e-12 off its square); 0 if none does.
    """
    counted = masked(log_ratio.square(), where).reshape(-1)
    number = where.sum().to(counted.dtype)
    ordered = counted.sort().values  # the zeros of those that do not count come first and add nothing
    beyond = torch.arange(len(ordered) - 1, -1, -1, device=counted.device, dtype=counted.dtype)
    capped = ordered.cumsum(0) + ordered * beyond
    fits = torch.where(capped <= budget * number, ordered, torch.zeros_like(ordered))
    largest = fits.amax() if len(fits) else counted.sum()
    hair = (16 * torch.finfo(counted.dtype).eps * largest.sqrt()).clamp_min(1e-12)
    bound = (largest - hair).clamp_min(0).sqrt()
    return torch.where(counted.sum() <= budget * number, torch.full_like(bound, float("inf")), bound)
