"""From what a sampling pass wrote to `Rollouts`: prefixes in front, padding cut, texts decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness.policies.padding import length_mask, pad_left
from harness.policies.rollouts import Rollouts

if TYPE_CHECKING:
    from harness.policies.policy import Policy
    from harness.policies.sampler import Asked

__all__ = ["Written", "assemble"]


class Written:
    """The new tokens of all rows, [M, width]; beyond `lengths` there may be anything."""

    def __init__(self, rows: int, width: int, policy: Policy, want_entropy: bool) -> None:
        self.ids = torch.full((rows, width), policy.pad_id, device=policy.device)
        self.logp = torch.zeros(rows, width, dtype=policy.dtype, device=policy.device)
        self.entropy = torch.zeros_like(self.logp) if want_entropy else None
        self.lengths = torch.zeros(rows, dtype=torch.long, device=policy.device)
        self.stopped = torch.zeros(rows, dtype=torch.bool, device=policy.device)

    def put(self, rows: Tensor, t: int, tokens: Tensor, logp: Tensor, entropy: Tensor | None) -> None:
        """The t-th new token of these rows."""
        self.ids[rows, t] = tokens
        self.logp[rows, t] = logp.to(self.logp.dtype)
        if self.entropy is not None and entropy is not None:
            self.entropy[rows, t] = entropy.to(self.entropy.dtype)


def assemble(asked: Asked, new: Written, policy: Policy) -> Rollouts:
    """Prefixes and new tokens as one right-padded block, cut to the longest completion."""
    lengths = asked.given + new.lengths
    width = int(lengths.max()) if len(asked) else 0
    shape = (len(asked), width)
    ids = torch.full(shape, policy.pad_id, device=policy.device)
    logp = torch.zeros(shape, dtype=policy.dtype, device=policy.device)
    mask = length_mask(lengths, width).to(policy.dtype)
    entropy = None if new.entropy is None else torch.zeros_like(logp)
    fresh = length_mask(new.lengths, new.ids.shape[1])
    row, column = fresh.nonzero(as_tuple=True)
    target = (row, column + asked.given[row])
    ids[target], logp[target] = new.ids[fresh], new.logp[fresh]
    if entropy is not None and new.entropy is not None:
        entropy[target] = new.entropy[fresh]
    _put_prefixes(asked, ids, logp, mask)
    stopped = new.stopped | asked.ended
    spoken = (lengths - stopped.long()).tolist()
    prompts, prompt_mask = pad_left([r.prompt_ids for r in asked.requests], policy.pad_id)
    return Rollouts(
        requests=asked.requests,
        index=asked.index,
        rollout=asked.rollout,
        prompt_ids=prompts.to(policy.device)[asked.index],
        prompt_mask=prompt_mask.to(policy.device)[asked.index],
        completion_ids=ids,
        mask=mask,
        logp=logp,
        lengths=lengths,
        truncated=~stopped,
        temperature=asked.temperature,
        generated=new.lengths.clone(),
        texts=tuple(policy.decode_all([line[:end] for line, end in zip(ids.tolist(), spoken, strict=True)])),
        pieces=policy.token_texts,
        entropy=entropy,
    )


def _put_prefixes(asked: Asked, ids: Tensor, logp: Tensor, mask: Tensor) -> None:
    """Write given prefixes in place, with the log-probabilities and masks that they came with."""
    starts = torch.searchsorted(asked.index, torch.arange(len(asked.requests) + 1, device=ids.device)).tolist()
    for number, request in enumerate(asked.requests):
        if not request.prefix:
            continue
        mine, span = slice(starts[number], starts[number + 1]), slice(0, len(request.prefix))
        ids[mine, span] = torch.tensor(request.prefix, device=ids.device)
        if request.prefix_logp:
            logp[mine, span] = torch.tensor(request.prefix_logp, dtype=logp.dtype, device=ids.device)
        if request.prefix_mask:
            mask[mine, span] = torch.tensor(request.prefix_mask, dtype=mask.dtype, device=ids.device)
