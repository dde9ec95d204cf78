"""One token per row from its logits and its uniform, by inversion of the cumulative distribution in float64."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["draw"]


def draw(
    logits: Tensor, temperature: Tensor, noise: Tensor, greedy: Tensor, want_entropy: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Tokens [B], their log-probabilities and, if wanted, entropies, under softmax(logits / temperature).

    `logits` [B, V], `temperature` [B], `noise` [B] float64 in [0, 1), `greedy` [B] bool.
    """
    if logits.dtype not in {torch.float32, torch.float64}:
        logits = logits.float()
    logp = torch.log_softmax(logits / temperature.to(logits.dtype)[:, None], -1)
    cdf = logp.double().exp().cumsum(-1)
    tokens = torch.searchsorted(cdf, (noise * cdf[:, -1])[:, None], right=True)[:, 0].clamp_max(logits.shape[1] - 1)
    tokens = torch.where(greedy, logits.argmax(-1), tokens)
    entropy = -(logp.exp() * logp).sum(-1) if want_entropy else None
    return tokens, logp.gather(1, tokens[:, None])[:, 0], entropy
