"""A `Batch` from what another trainer knows about its completions, with neutral values in every other field."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor

from harness.batch import Batch, PromptRecord

__all__ = ["make_batch", "records"]


def make_batch(
    *,
    mask: Tensor,
    prompt: Tensor,
    rewards: Tensor,
    reward_names: tuple[str, ...],
    reward_weights: Tensor,
    correct: Tensor,
    max_tokens: int,
    prompts: Sequence[PromptRecord] = (),
    prompt_ids: Tensor | None = None,
    prompt_mask: Tensor | None = None,
    completion_ids: Tensor | None = None,
    logp_sampler: Tensor | None = None,
    lengths: Tensor | None = None,
    truncated: Tensor | None = None,
    temperature: float = 1.0,
    token_columns: dict[str, Tensor] | None = None,
    logp_old: Tensor | None = None,
    logp_ref: Tensor | None = None,
    entropy: Tensor | None = None,
) -> Batch:
    """N rows: mask [N, T] float, prompt [N] the number of each row's prompt, rewards [N, K].

    Log-probabilities of the sampler that nobody knows are NaN, so that a hook that reads them is found out.
    """
    rows = len(mask)
    none = torch.zeros(rows, dtype=torch.long, device=mask.device)
    ids = none[:, None] if prompt_ids is None else prompt_ids
    return Batch(
        prompt_ids=ids,
        prompt_mask=torch.ones_like(ids) if prompt_mask is None else prompt_mask,
        completion_ids=torch.zeros_like(mask, dtype=torch.long) if completion_ids is None else completion_ids,
        mask=mask,
        logp_sampler=torch.full_like(mask, torch.nan) if logp_sampler is None else logp_sampler,
        prompt=prompt,
        rollout=_earlier(prompt),
        round=none,
        age=none,
        rewards=rewards,
        reward_names=reward_names,
        reward_weights=reward_weights,
        correct=correct,
        lengths=(mask > 0).sum(-1) if lengths is None else lengths,
        truncated=none.bool() if truncated is None else truncated,
        temperature=torch.full((rows,), temperature, dtype=mask.dtype, device=mask.device),
        max_tokens=max_tokens,
        prompts=tuple(prompts) or tuple(PromptRecord(str(key), "", "") for key in prompt.tolist()),
        group_keys=prompt,
        kept=torch.ones(rows, dtype=torch.bool, device=mask.device),
        token_columns=token_columns or {},
        logp_old=logp_old,
        logp_ref=logp_ref,
        entropy=entropy,
    )


def records(texts: Sequence[str], task: str) -> list[PromptRecord]:
    """A record a prompt, keyed by its text."""
    return [PromptRecord(hashlib.sha256(text.encode()).hexdigest()[:16], text, task) for text in texts]


def _earlier(prompt: Tensor) -> Tensor:
    """[N] how many rows of the same prompt come before a row."""
    order = prompt.argsort(stable=True)
    first = torch.searchsorted(prompt[order].contiguous(), prompt[order].contiguous())
    places = torch.arange(len(prompt), device=prompt.device) - first
    return torch.empty_like(places).scatter_(0, order, places)
