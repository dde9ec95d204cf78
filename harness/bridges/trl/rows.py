"""The generation batch of all processes as a `Batch`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from accelerate.utils import gather_object
from torch import Tensor

from harness.batch import Batch
from harness.bridges.rows import make_batch, records
from harness.errors import UsageError

__all__ = ["Verdict", "everyone", "whole_batch"]


class Verdict:
    """Which reward column decides what is correct, and above which value."""

    def __init__(self, names: Sequence[str], correct: str | None, above: float) -> None:
        """Raise UsageError for a name that is no reward function's."""
        if correct is not None and correct not in names:
            raise UsageError(f"correct={correct!r} is no reward function; known: {', '.join(names)}")
        self.column = 0 if correct is None else list(names).index(correct)
        self.above = above

    def __call__(self, columns: Tensor) -> Tensor:
        """A bool [N]; a missing reward is not correct."""
        return columns[:, self.column] > self.above


def everyone(accelerator: Any, x: Tensor | None, *, first: bool = False, fill: float = 0) -> Any:
    """The rows [n] or [n, T] of all processes in their order, padded to the widest; None stays None."""
    if x is None:
        return None
    if x.dim() > 1:
        x = accelerator.pad_across_processes(x, dim=1, pad_index=fill, pad_first=first)
    return accelerator.gather(x)


def whole_batch(
    trainer: Any,
    found: Mapping[str, Any],
    columns: Tensor,
    *,
    verdict: Verdict,
    texts: Sequence[str],
    entropy: Tensor | None,
) -> Batch:
    """The rows of all processes; in TRL's order the completions of a prompt are neighbours.

    found: what TRL generated on this process; columns [N, K]: the rewards of all processes.
    """
    ids, on, pad = found["completion_ids"], found["completion_mask"], trainer._tokenizer.pad_token_id  # noqa: SLF001
    lengths = on.sum(-1).long()
    last = ids.gather(1, (lengths[:, None] - 1).clamp_min(0))[:, 0]
    ended = torch.isin(last, torch.tensor([*trainer.eos_token_ids, pad]).to(last))
    old = found.get("old_per_token_logps")  # who samples with transformers is the policy as it is then
    trains = on if found.get("tool_mask") is None else on * found["tool_mask"]

    def every(x: Tensor | None, **how: Any) -> Any:
        return everyone(trainer.accelerator, x, **how)

    return make_batch(
        mask=every(trains.float()),
        prompt=torch.arange(len(columns), device=columns.device) // trainer.num_generations,
        rewards=columns,
        reward_names=tuple(trainer.reward_func_names),
        reward_weights=trainer.reward_weights.to(columns),
        correct=verdict(columns),
        max_tokens=trainer.max_completion_length,
        prompts=records(gather_object(list(texts)), "trl"),
        prompt_ids=every(found["prompt_ids"], first=True, fill=pad),
        prompt_mask=every(found["prompt_mask"], first=True),
        completion_ids=every(ids, fill=pad),
        lengths=every(lengths),
        truncated=~every(ended),
        temperature=trainer.temperature,
        logp_sampler=every(found.get("sampling_per_token_logps", old)),
        logp_old=every(old),
        logp_ref=every(found.get("ref_per_token_logps")),
        entropy=every(entropy),
    )
