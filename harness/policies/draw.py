"""One token per row from its logits and its uniform, by inversion of the cumulative distribution in float64."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["draw", "invert"]

BLOCK = 256  # tokens whose probabilities are summed first; larger vocabularies are searched in two levels


def draw(
    logits: Tensor, noise: Tensor, temperature: Tensor | None, greedy: Tensor | None, want_entropy: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Tokens [B], their log-probabilities and, if wanted, entropies, under softmax(logits / temperature).

    `logits` [B, V], `noise` [B] float64 in [0, 1); `temperature` [B] or None for 1; `greedy` [B] bool or None.
    """
    if logits.dtype not in {torch.float32, torch.float64}:
        logits = logits.float()
    if temperature is not None:
        logits = logits / temperature.to(logits.dtype)[:, None]
    logp = torch.log_softmax(logits, -1)
    probability = logp.exp()
    tokens = invert(probability, noise)
    if greedy is not None:
        tokens = torch.where(greedy, logits.argmax(-1), tokens)
    entropy = torch.special.entr(probability).sum(-1) if want_entropy else None
    return tokens, logp.gather(1, tokens[:, None])[:, 0], entropy


def invert(probability: Tensor, noise: Tensor) -> Tensor:
    """[B] the token whose stretch of the cumulative distribution holds `noise` (times the total, to be exact about 1).

    Sums are float64. Above `BLOCK` tokens only block sums are accumulated, then the chosen block: of a real model's
    50,000 probabilities a few hundred are ever converted.
    """
    size = probability.shape[1]
    if size <= BLOCK:
        steps = probability.cumsum(-1, dtype=torch.float64)
        return _search(steps, noise)[0]
    blocks = -(-size // BLOCK)
    padded = functional.pad(probability, (0, blocks * BLOCK - size)).view(-1, blocks, BLOCK)
    sums = padded.sum(-1, dtype=torch.float64)
    steps = sums.cumsum(-1)
    block, target = _search(steps, noise)
    own = sums.gather(1, block[:, None])
    share = (target - steps.gather(1, block[:, None]) + own) / own
    inside = padded.gather(1, block[:, None, None].expand(-1, 1, BLOCK))[:, 0].cumsum(-1, dtype=torch.float64)
    return block * BLOCK + _search(inside, share[:, 0].clamp_min(0.0))[0]


def _search(steps: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """The first index [B] whose cumulative sum exceeds noise * total, and that product [B, 1]."""
    total = steps[:, -1:]
    # Rounding must not push a point onto the end, where nothing exceeds it.
    target = torch.minimum(noise[:, None] * total, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(steps, target, right=True)[:, 0].clamp_max(steps.shape[1] - 1), target
