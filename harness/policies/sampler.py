"""Sampling: completions with their log-probabilities, from keyed noise, with a cache, dropping rows that have ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness.policies.draw import draw
from harness.policies.noise import key64, pass_key, uniforms_at
from harness.policies.padding import length_mask, pad_left
from harness.policies.rollouts import Request, Rollouts

if TYPE_CHECKING:
    from harness.policies.policy import Policy

__all__ = ["Sampler"]

BLOCK = 64  # positions whose noise is drawn in one call
KEEP = 0.75  # finished rows leave once this share or less of the batch is still writing


class Sampler:
    """Samples completions from a policy; what comes out depends on (weights, request, seed, step, round) alone."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def generate(
        self,
        requests: Sequence[Request],
        *,
        seed: int,
        step: int,
        round: int = 0,  # noqa: A002 - the name of the thing
        want_entropy: bool = False,
        stream: str = "train",
    ) -> Rollouts:
        """Completions of every request, in order: `n` rows each.

        A row's tokens are a function of the weights, its request and its place in the noise; other rows and the order
        of requests change nothing (but the last bit of a matrix product, which decides ties of the cumulative
        distribution). Log-probabilities are those of the distribution sampled from, temperature applied.
        """
        rows = _Rows(requests, self.policy)
        with torch.inference_mode():
            written = self._write(rows, pass_key(seed, step, round, stream), want_entropy)
        return _assemble(rows, written, self.policy)

    def _write(self, rows: _Rows, key: int, want_entropy: bool) -> _Written:
        out = _Written(len(rows), rows.width, self.policy, want_entropy)
        alive = (rows.limit > 0).nonzero()[:, 0]
        if not len(alive):
            return out
        starts, mask, place = rows.contexts(self.policy.pad_id)
        decoder = self.policy.backbone.decoder(starts.shape[1] + rows.width)
        logits = decoder.prefill(starts.to(self.policy.device), mask.to(self.policy.device))[place[alive]]
        decoder.select(place[alive])
        stops = torch.tensor(self.policy.stop_ids, device=self.policy.device)
        writing = torch.ones_like(alive, dtype=torch.bool)
        for t in range(rows.width):
            if t % BLOCK == 0:
                noise = rows.noise(key, alive, t, min(BLOCK, rows.width - t))
            tokens, logp, entropy = draw(
                logits, rows.temperature[alive], noise[:, t % BLOCK], rows.greedy[alive], want_entropy
            )
            out.put(alive, t, tokens, logp, entropy)
            stopped = torch.isin(tokens, stops)
            out.lengths[alive[writing]] = t + 1
            out.stopped[alive[writing & stopped]] = True
            writing &= ~stopped & (rows.limit[alive] > t + 1)
            count = int(writing.sum())
            if count == 0:
                break
            if count <= KEEP * len(alive):
                kept = writing.nonzero()[:, 0]
                alive, tokens, noise, writing = alive[kept], tokens[kept], noise[kept], writing[kept]
                decoder.select(kept)
            logits = decoder.step(tokens)
        return out


class _Rows:
    """The rows that requests ask for, as tensors."""

    def __init__(self, requests: Sequence[Request], policy: Policy) -> None:
        self.requests = tuple(requests)
        device = policy.device
        counts = torch.tensor([r.n for r in self.requests], dtype=torch.long)

        def per_row(values: list[float] | list[int] | list[bool], dtype: torch.dtype) -> Tensor:
            return torch.tensor(values, dtype=dtype).repeat_interleave(counts).to(device)

        self.index = per_row(list(range(len(self.requests))), torch.long)
        starts = (counts.cumsum(0) - counts).repeat_interleave(counts).to(device)
        first = per_row([r.first_rollout for r in self.requests], torch.long)
        self.rollout = first + torch.arange(len(self.index), device=device) - starts
        self.prompt_hash = per_row([key64(r.key) for r in self.requests], torch.long)
        self.temperature = per_row([r.temperature for r in self.requests], policy.dtype)
        self.greedy = per_row([r.greedy for r in self.requests], torch.bool)
        self.given = per_row([len(r.prefix) for r in self.requests], torch.long)
        ended = [bool(r.prefix) and r.prefix[-1] in policy.stop_ids for r in self.requests]
        self.ended = per_row(ended, torch.bool)
        self.limit = per_row([r.new_tokens for r in self.requests], torch.long) * ~self.ended
        self.width = int(self.limit.max()) if len(self) else 0

    def __len__(self) -> int:
        return len(self.index)

    def contexts(self, pad_id: int) -> tuple[Tensor, Tensor, Tensor]:
        """The distinct prompts (with prefixes) of all rows, left-padded with mask, and which one each row follows."""
        places: dict[tuple[int, ...], int] = {}
        chosen = [places.setdefault((*r.prompt_ids, *r.prefix), len(places)) for r in self.requests]
        ids, mask = pad_left(list(places), pad_id)
        return ids, mask, torch.tensor(chosen, device=self.index.device)[self.index]

    def noise(self, key: int, rows: Tensor, start: int, count: int) -> Tensor:
        """float64 [rows, count]: the uniforms of `count` new tokens from the `start`-th on."""
        position = self.given[rows, None] + torch.arange(start, start + count, device=rows.device)
        return uniforms_at(key, self.prompt_hash[rows, None], self.rollout[rows, None], position)


class _Written:
    """What the passes wrote: new tokens only, prefixes apart."""

    def __init__(self, rows: int, width: int, policy: Policy, want_entropy: bool) -> None:
        self.ids = torch.full((rows, width), policy.pad_id, device=policy.device)
        self.logp = torch.zeros(rows, width, dtype=policy.dtype, device=policy.device)
        self.entropy = torch.zeros_like(self.logp) if want_entropy else None
        self.lengths = torch.zeros(rows, dtype=torch.long, device=policy.device)
        self.stopped = torch.zeros(rows, dtype=torch.bool, device=policy.device)

    def put(self, rows: Tensor, t: int, tokens: Tensor, logp: Tensor, entropy: Tensor | None) -> None:
        self.ids[rows, t] = tokens
        self.logp[rows, t] = logp.to(self.logp.dtype)
        if self.entropy is not None and entropy is not None:
            self.entropy[rows, t] = entropy.to(self.entropy.dtype)


def _assemble(rows: _Rows, new: _Written, policy: Policy) -> Rollouts:
    """Prefixes and new tokens as one right-padded block, cut to the longest completion."""
    lengths = rows.given + new.lengths
    width = int(lengths.max()) if len(rows) else 0
    inside = length_mask(lengths, width)
    ids = torch.full((len(rows), width), policy.pad_id, device=policy.device)
    logp = torch.zeros(len(rows), width, dtype=policy.dtype, device=policy.device)
    mask = inside.to(policy.dtype)
    entropy = None if new.entropy is None else torch.zeros_like(logp)
    fresh = length_mask(new.lengths, new.ids.shape[1])
    row, column = fresh.nonzero(as_tuple=True)
    target = (row, column + rows.given[row])
    ids[target], logp[target] = new.ids[fresh], new.logp[fresh]
    if entropy is not None and new.entropy is not None:
        entropy[target] = new.entropy[fresh]
    for number, request in enumerate(rows.requests):  # prefixes are rare: a loop over the requests that have one
        if request.prefix:
            mine = rows.index == number
            span = len(request.prefix)
            ids[mine, :span] = torch.tensor(request.prefix, device=policy.device)
            if request.prefix_logp:
                logp[mine, :span] = torch.tensor(request.prefix_logp, dtype=policy.dtype, device=policy.device)
            if request.prefix_mask:
                mask[mine, :span] = torch.tensor(request.prefix_mask, dtype=policy.dtype, device=policy.device)
    stopped = new.stopped | rows.ended
    prompts, prompt_mask = pad_left([r.prompt_ids for r in rows.requests], policy.pad_id)
    spoken = (lengths - stopped.long()).tolist()
    return Rollouts(
        requests=rows.requests,
        index=rows.index,
        rollout=rows.rollout,
        prompt_ids=prompts.to(policy.device)[rows.index],
        prompt_mask=prompt_mask.to(policy.device)[rows.index],
        completion_ids=ids,
        mask=mask,
        logp=logp,
        lengths=lengths,
        truncated=~stopped,
        temperature=rows.temperature,
        generated=new.lengths,
        texts=tuple(policy.decode_all([line[:end] for line, end in zip(ids.tolist(), spoken, strict=True)])),
        pieces=policy.token_texts,
        entropy=entropy,
    )
