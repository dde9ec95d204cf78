"""Batches for tests, from plain lists."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from harness import Batch, PromptRecord


def make_batch(
    rewards: Any = (1.0, 0.0, 0.0, 1.0),
    group: Any = None,
    lengths: Any = None,
    *,
    tokens: int | None = None,
    dtype: torch.dtype = torch.float64,
    seed: int = 0,
    **fields: Any,
) -> Batch:
    """A batch with the given rewards [N] or [N, K], groups, and completion lengths (default 1, 2, 3, 1, 2, 3 ...)."""
    columns = torch.as_tensor(rewards, dtype=dtype)
    columns = columns[:, None] if columns.dim() == 1 else columns
    count = len(columns)
    sizes = torch.as_tensor([1 + i % 3 for i in range(count)] if lengths is None else lengths, dtype=torch.long)
    width = max([*sizes.tolist(), 1]) if tokens is None else tokens
    mask = (torch.arange(width) < sizes[:, None]).to(dtype)
    prompt = torch.zeros(count, dtype=torch.long) if group is None else torch.as_tensor(group, dtype=torch.long)
    noise = torch.Generator().manual_seed(seed)

    def logps() -> Tensor:
        return -torch.rand(count, width, dtype=dtype, generator=noise) * mask

    known: dict[str, Any] = {
        "prompt_ids": torch.ones(count, 2, dtype=torch.long),
        "prompt_mask": torch.ones(count, 2, dtype=dtype),
        "completion_ids": torch.arange(count * width).reshape(count, width) % 50 * mask.long(),
        "mask": mask,
        "logp_sampler": logps(),
        "prompt": prompt,
        "rollout": torch.arange(count),
        "round": torch.zeros(count, dtype=torch.long),
        "age": torch.zeros(count, dtype=torch.long),
        "rewards": columns,
        "reward_names": tuple(f"r{k}" for k in range(columns.shape[1])),
        "reward_weights": torch.ones(columns.shape[1], dtype=dtype),
        "correct": columns[:, 0] > 0.5,
        "lengths": sizes,
        "truncated": torch.zeros(count, dtype=torch.bool),
        "temperature": torch.ones(count, dtype=dtype),
        "max_tokens": width,
        "prompts": tuple(PromptRecord(key=f"t:{p}", text=f"{p}=", task="t") for p in prompt.tolist()),
        "group_keys": prompt,
        "kept": torch.ones(count, dtype=torch.bool),
        "logp_old": logps(),
        "logp_ref": logps(),
        "entropy": torch.rand(count, width, dtype=dtype, generator=noise) * mask,
    }
    return Batch(**(known | fields))
