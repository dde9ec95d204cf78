"""How much exists at one time: constants, because another way of cutting work is another last bit."""

from __future__ import annotations

__all__ = ["LIMIT", "MAX_CACHE", "MAX_ROWS", "cache_limit", "side_by_side"]

LIMIT = 2**26  # logits: 256 MiB of float32, 400 tokens of a vocabulary of 150,000
MAX_ROWS = 1024  # sequences decoded side by side ...
MAX_CACHE = 2**30  # ... as far as their keys and values fit in so many bytes, or in the weights' of a large model


def cache_limit(parameters: float) -> int:
    """Bytes of keys and values at one time: as many as the weights take in two bytes each, 1 GiB at least.

    A model of seven billion parameters would else write eight completions of 2,000 tokens at a time.
    """
    return max(MAX_CACHE, 2 * int(parameters))


def side_by_side(parameters: float, tokens: float, cache: float) -> int:
    """Sequences of so many tokens that are decoded at one time, whose keys and values take `cache` bytes a token."""
    return min(MAX_ROWS, max(1, int(cache_limit(parameters) // (tokens * cache))))
