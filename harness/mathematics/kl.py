"""Estimates of the KL divergence between two policies from sampled tokens."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

__all__ = ["KLKind", "adapted_coefficient", "kl_estimate"]

KLKind = Literal["k1", "k2", "k3", "abs", "low_var"]

LOG_LIMIT = 20.0  # exp(20) = 5e8: beyond it a float32 loss says nothing
LOW_VAR_LIMIT = 10.0


def kl_estimate(logp: Tensor, logp_ref: Tensor, kind: KLKind = "k3") -> Tensor:
    """Per-token estimate of KL(pi || pi_ref) from tokens of pi, with x = logp - logp_ref.

    k1 = x, k2 = x^2 / 2, k3 = exp(-x) - 1 + x, abs = |x| (Schulman, "Approximating KL divergence", 2020). As a loss
    k1 has no expected gradient, k2 that of the reverse and k3 that of the forward KL. In the exponential -x is capped
    at 20. low_var is k3 cut off at 10, without gradient beyond (the default of verl and others).
    """
    x = logp - logp_ref
    if kind == "k1":
        return x
    if kind == "k2":
        return x.square() / 2
    if kind == "abs":
        return x.abs()
    if kind == "k3":
        return (-x).clamp_max(LOG_LIMIT).exp() - 1 + x
    if kind == "low_var":
        x = x.clamp(-LOG_LIMIT, LOG_LIMIT)
        return ((-x).exp() - 1 + x).clamp_max(LOW_VAR_LIMIT)
    msg = f"unknown KL estimator {kind!r}; choose k1, k2, k3, abs or low_var"
    raise ValueError(msg)


def adapted_coefficient(coefficient: float, kl: float, target: float, share: float, limit: float = 0.2) -> float:
    """The KL weight after a step, moved towards what keeps the KL at `target` (arXiv 1909.08593, section 2.2).

    coefficient * (1 + clip(kl / target - 1, -+limit) * share), share: the step's completions over the horizon.
    """
    return coefficient * (1 + min(max(kl / target - 1, -limit), limit) * share)
