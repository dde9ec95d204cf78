"""How good a gradient is, where the true one is known. Pure functions of tensors.

A method's gradient may be scaled by anything: an optimizer with a norm undoes it. So all that is measured is
direction and noise. ascent [M, D] are the directions of M batches, exact [D] the true gradient.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = [
    "bias", "cosine_of_batches", "cosine_of_mean", "error_of_cosine", "jackknife", "noise", "sign_errors",
    "silent_groups",
]  # fmt: skip


def cosine_of_batches(ascent: Tensor, exact: Tensor) -> float:
    """Mean over batches of cos(batch's direction, true gradient): what one step is worth; 0 for an empty gradient."""
    return float(_cosines(ascent, exact).mean())


def error_of_cosine(ascent: Tensor, exact: Tensor) -> float:
    """The standard error of `cosine_of_batches`; 0 where there is one batch only."""
    return float(_cosines(ascent, exact).std()) / len(ascent) ** 0.5 if len(ascent) > 1 else 0.0


def cosine_of_mean(ascent: Tensor, exact: Tensor) -> float:
    """cos(mean direction, true gradient), with the sampling noise of the mean taken out, in -1 to 1; 0 if it is 0.

    |mean|^2 is estimated by the mean inner product of different batches, which noise does not inflate.
    """
    square = _square_of_mean(ascent)
    if square <= 0:
        return 0.0
    inner = float(ascent.mean(0) @ exact)
    return max(-1.0, min(1.0, inner / (square**0.5 * float(exact.norm()))))


def bias(ascent: Tensor, exact: Tensor) -> float:
    """The share of the mean direction's length that is not along the true gradient: the sine; 1 for no direction."""
    cosine = cosine_of_mean(ascent, exact)
    return (1 - cosine * cosine) ** 0.5 if cosine > 0 else 1.0


def noise(ascent: Tensor) -> float:
    """Variance of a batch's direction over the squared length of the mean direction; infinite if that is 0."""
    square = _square_of_mean(ascent)
    spread = float(ascent.var(0).sum())
    return spread / square if square > 0 else float("inf")


def jackknife(measure: Callable[[Tensor, Tensor], float], ascent: Tensor, exact: Tensor, blocks: int = 10) -> float:
    """Standard error of a measure of all batches, from leaving out a block of them at a time."""
    blocks = min(blocks, len(ascent))
    if blocks < 2:
        return 0.0
    block = torch.arange(len(ascent)) % blocks
    found = torch.tensor([measure(ascent[block != number], exact) for number in range(blocks)], dtype=torch.float64)
    return float((found - found.mean()).square().sum() * (blocks - 1) / blocks) ** 0.5


def sign_errors(pull: Tensor, advantage: Tensor) -> float:
    """Of the completions that are pushed, the share that is pushed the wrong way; pull and true advantage of one shape.

    NaN where nothing is pushed.
    """
    pushed = pull.abs() > _tiny(pull)
    wrong = pushed & (pull.sign() * advantage.sign() < 0)
    return float(wrong.sum() / pushed.sum()) if pushed.any() else float("nan")


def silent_groups(pull: Tensor) -> float:
    """The share of groups [..., G] of which no completion is pushed."""
    return float((pull.abs() <= _tiny(pull)).all(-1).double().mean())


def _cosines(ascent: Tensor, exact: Tensor) -> Tensor:
    return torch.nn.functional.cosine_similarity(ascent, exact[None], dim=-1, eps=1e-30)


def _square_of_mean(ascent: Tensor) -> float:
    """|E a|^2 without bias: the mean of <a_m, a_n> over m != n."""
    number = len(ascent)
    total = float(ascent.sum(0).square().sum())
    own = float(ascent.square().sum())
    return (total - own) / (number * (number - 1)) if number > 1 else total


def _tiny(pull: Tensor) -> float:
    """What rounding leaves of a pull of 0."""
    return 1e-12 * float(pull.abs().max()) if pull.numel() else 0.0
