"""Token n-grams of whole batches: how much a completion repeats itself, and what it is like."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["ngram_embedding", "repeated_share"]

MULTIPLIER = 6364136223846793005  # of a linear congruential generator; int64 wraps around


def repeated_share(ids: Tensor, lengths: Tensor, n: int) -> Tensor:
    """[N] 1 - distinct n-grams / n-grams of the first `lengths` tokens of ids [N, T]; 0 for fewer than n tokens."""
    total = (lengths - n + 1).clamp_min(0)
    distinct = torch.zeros_like(total)
    if n < 1 or ids.shape[1] < n:
        return distinct.to(torch.float64)
    windows = ids.unfold(1, n, 1)
    there = torch.arange(windows.shape[1], device=ids.device) < total[:, None]
    rows = there.nonzero()[:, :1]
    unique = torch.unique(torch.cat([rows, windows[there]], 1), dim=0)[:, 0]
    distinct.index_add_(0, unique, torch.ones_like(unique))
    share = 1 - distinct.to(torch.float64) / total.clamp_min(1)
    return torch.where(total > 0, share, 0)


def ngram_embedding(ids: Tensor, lengths: Tensor, n: int = 2, buckets: int = 512) -> Tensor:
    """[N, buckets] unit vectors of counts of all 1- to n-grams, each hashed to a bucket; 0 for an empty row.

    Deterministic and non-negative, so that cosines lie in [0, 1].
    """
    found = torch.zeros(ids.shape[0], buckets, dtype=torch.float64, device=ids.device)
    places = torch.arange(ids.shape[1], device=ids.device)
    code = torch.zeros_like(ids)
    for size in range(1, n + 1):
        code = code * MULTIPLIER + (ids + 1) * (2 * MULTIPLIER // 3 + 1)
        bucket = (code ^ (code >> 29)) % buckets
        whole = places < lengths[:, None] - size + 1
        found.scatter_add_(1, bucket, whole.to(found.dtype))
        code, ids = code[:, :-1], ids[:, 1:]
        places = places[:-1]
    return torch.nn.functional.normalize(found, dim=1)
