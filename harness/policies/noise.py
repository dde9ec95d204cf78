"""Counter-based noise: one uniform per token, a pure function of where the token stands.

Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) in int64 tensor operations, so
that the same numbers come out on every device and for every batch composition. The key is a hash of what a sampling
pass is (stream, seed, step, round), the counter is where a token is (position, rollout, prompt).
"""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor

__all__ = ["key64", "pass_key", "philox", "uniforms", "uniforms_at"]

WORD = 0xFFFFFFFF
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10


def key64(text: str) -> int:
    """A stable 64-bit hash of a text, as a signed integer that fits an int64 tensor."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)


def pass_key(seed: int, step: int, round: int, stream: str = "train") -> int:  # noqa: A002 - the name of the thing
    """The key of one sampling pass."""
    return key64(f"{stream}/{seed}/{step}/{round}")


def philox(counter: tuple[Tensor, Tensor, Tensor, Tensor], key: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Philox-4x32-10: four int64 tensors that hold 32-bit words, and a 64-bit key (low word first)."""
    c0, c1, c2, c3 = counter
    k0, k1 = key & WORD, (key >> 32) & WORD
    for _ in range(ROUNDS):
        # The 64-bit product wraps as a signed number, but its bits are right: mask after every shift.
        p0, p1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        c0, c1, c2, c3 = (p1 >> 32 & WORD) ^ c1 ^ k0, p1 & WORD, (p0 >> 32 & WORD) ^ c3 ^ k1, p0 & WORD
        k0, k1 = (k0 + WEYL[0]) & WORD, (k1 + WEYL[1]) & WORD
    return c0, c1, c2, c3


def uniforms_at(key: int, prompt_hash: Tensor, rollout: Tensor, position: Tensor) -> Tensor:
    """float64 in [0, 1) with 53 random bits, of the broadcast shape of three int64 tensors."""
    prompt_hash, rollout, position = torch.broadcast_tensors(prompt_hash, rollout, position)
    words = philox((position & WORD, rollout & WORD, prompt_hash & WORD, prompt_hash >> 32 & WORD), key)
    return ((words[0] >> 5) * 2**26 + (words[1] >> 6)).to(torch.float64) * 2.0**-53


def uniforms(  # noqa: PLR0917 - the key, in its order
    seed: int,
    step: int,
    round: int,  # noqa: A002
    prompt_hash: Tensor,
    rollout: Tensor,
    position: Tensor,
    *,
    stream: str = "train",
) -> Tensor:
    """The uniforms of tokens at (prompt, rollout, position) in the sampling pass (stream, seed, step, round)."""
    return uniforms_at(pass_key(seed, step, round, stream), prompt_hash, rollout, position)
