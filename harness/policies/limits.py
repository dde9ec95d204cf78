"""How much exists at one time: constants, because another way of cutting work is another last bit."""

from __future__ import annotations

__all__ = ["LIMIT", "MAX_CACHE", "MAX_ROWS"]

LIMIT = 2**26  # logits: 256 MiB of float32, 400 tokens of a vocabulary of 150,000
MAX_ROWS = 1024  # sequences decoded side by side ...
MAX_CACHE = 2**30  # ... as far as their keys and values fit in so many bytes
