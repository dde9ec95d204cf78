"""Sampling: completions with their log-probabilities, from keyed noise, with a cache, dropping rows that have ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness.distributed.sharding import whole
from harness.errors import UsageError
from harness.policies.assemble import Written, assemble
from harness.policies.draw import draw
from harness.policies.limits import side_by_side
from harness.policies.noise import key64, pass_key, uniforms_at
from harness.policies.padding import pad_left
from harness.policies.rollouts import Request, Rollouts
from harness.policies.shares import divided

if TYPE_CHECKING:
    from harness.policies.policy import Policy

__all__ = ["Sampler"]

BLOCK = 64  # positions whose noise is drawn in one call
KEEP = 0.6  # finished rows leave once this share or less of the batch is still writing


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
        key, world = pass_key(seed, step, round, stream), self.policy.world
        if world.size > 1:
            with whole(self.policy.model):
                return divided(world, requests, lambda mine: self._sample(mine, key, want_entropy), self.policy.pad_id)
        return self._sample(requests, key, want_entropy)

    def _sample(self, requests: Sequence[Request], key: int, want_entropy: bool) -> Rollouts:
        """The completions of all requests, by this process."""
        asked = Asked(requests, self.policy)
        with torch.inference_mode():
            written = Written(len(asked), asked.width, self.policy, want_entropy)
            for rows in self._chunks(asked):
                self._write(asked, rows, key, written)
        return assemble(asked, written, self.policy)

    def _chunks(self, asked: Asked) -> Sequence[Tensor]:
        """Rows that have something to write, in pieces that fit; like context lengths together, to pad little."""
        rows = (asked.limit > 0).nonzero()[:, 0]
        capacity = int(asked.context_length.max()) + asked.width if len(asked) else 1
        fitting = side_by_side(self.policy.n_params, capacity, self.policy.backbone.cache_bytes)
        if len(rows) > fitting:
            rows = rows[asked.context_length[rows].sort(stable=True)[1]]
        return rows.split(fitting) if len(rows) else []

    def _write(self, asked: Asked, rows: Tensor, key: int, out: Written) -> None:
        """Decode one chunk, to the end of its longest completion."""
        ids, mask, place = asked.contexts(rows)
        width = int(asked.limit[rows].max())
        decoder = self.policy.backbone.decoder(ids.shape[1] + width)
        logits = decoder.prefill(ids, mask)[place]
        if len(ids) < len(rows) or not asked.in_order(place):
            decoder.select(place)
        live = Live(asked, rows)
        stops = torch.tensor(self.policy.stop_ids, dtype=torch.long, device=rows.device)
        for t in range(width):
            if t % BLOCK == 0:
                live.noise = asked.noise(key, live.rows, t, min(BLOCK, width - t))
            tokens, logp, entropy = draw(
                logits, live.noise[:, t % BLOCK], live.temperature, live.greedy, out.entropy is not None
            )
            out.put(live.rows, t, tokens, logp, entropy)
            kept = live.advance(t, (tokens[:, None] == stops).any(1), out)
            if kept is not None:
                if not len(kept):
                    break
                tokens = tokens[kept]
                decoder.select(kept)
            logits = decoder.step(tokens)


class Live:
    """The rows of a chunk that are still in the batch; some may have ended and not left yet."""

    def __init__(self, asked: Asked, rows: Tensor) -> None:
        self.rows = rows
        self.limit = asked.limit[rows]
        self.temperature = None if asked.plain else asked.temperature[rows]
        self.greedy = asked.greedy[rows] if asked.any_greedy else None
        self.noise = asked.temperature.new_empty(len(rows), 0)
        self.writing = torch.ones_like(rows, dtype=torch.bool)

    def advance(self, t: int, stopped: Tensor, out: Written) -> Tensor | None:
        """Note who ended with the t-th token. Which rows to go on with, where enough have ended, else None."""
        ended = self.writing & (stopped | (self.limit <= t + 1))
        count = int(ended.sum())
        if not count:
            return None
        done = self.rows[ended]
        out.lengths[done] = t + 1
        out.stopped[done] = stopped[ended]
        self.writing &= ~ended
        left = int(self.writing.sum())
        if left > KEEP * len(self.rows):
            return None
        kept = self.writing.nonzero()[:, 0]
        self.rows, self.limit, self.noise = self.rows[kept], self.limit[kept], self.noise[kept]
        self.temperature = None if self.temperature is None else self.temperature[kept]
        self.greedy = None if self.greedy is None else self.greedy[kept]
        self.writing = self.writing[kept]
        return kept


class Asked:
    """The rows that requests ask for, as tensors [M]."""

    def __init__(self, requests: Sequence[Request], policy: Policy) -> None:
        self.requests = tuple(requests)
        self.pad_id, self.device = policy.pad_id, policy.device
        counts = torch.tensor([r.n for r in self.requests], dtype=torch.long)

        def per_row(values: Sequence[float], dtype: torch.dtype) -> Tensor:
            return torch.tensor(values, dtype=dtype).repeat_interleave(counts).to(policy.device)

        self.index = per_row(range(len(self.requests)), torch.long)
        starts = (counts.cumsum(0) - counts).repeat_interleave(counts).to(policy.device)
        first = per_row([r.first_rollout for r in self.requests], torch.long)
        self.rollout = first + torch.arange(len(self.index), device=policy.device) - starts
        self.prompt_hash = per_row([key64(r.key) for r in self.requests], torch.long)
        self.temperature = per_row([r.temperature for r in self.requests], policy.dtype)
        self.plain = all(r.temperature == 1.0 for r in self.requests)
        self.greedy = per_row([r.greedy for r in self.requests], torch.bool)
        self.any_greedy = any(r.greedy for r in self.requests)
        self.given = per_row([len(r.prefix) for r in self.requests], torch.long)
        self.context_length = per_row([len(r.prompt_ids) for r in self.requests], torch.long) + self.given
        ended = [bool(r.prefix) and r.prefix[-1] in policy.stop_ids for r in self.requests]
        self.ended = per_row(ended, torch.bool)
        self.limit = per_row([r.new_tokens for r in self.requests], torch.long) * ~self.ended
        self.width = int(self.limit.max()) if len(self) else 0
        self._check_context(policy.context)

    def __len__(self) -> int:
        return len(self.index)

    def _check_context(self, context: int | None) -> None:
        for request in self.requests:
            length = len(request.prompt_ids) + max(request.max_tokens, len(request.prefix))
            if context is not None and length > context:
                count = len(request.prompt_ids)
                raise UsageError(
                    f"prompt {request.key!r}: {count} prompt tokens and max_tokens={request.max_tokens} together exceed"
                    f" the policy's context of {context}; lower sampling.max_tokens or shorten the prompt"
                )

    def contexts(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The distinct prompts (with prefixes) of these rows, left-padded with mask, and which one each row follows."""
        places: dict[tuple[int, ...], int] = {}
        of_request: dict[int, int] = {}
        numbers = self.index[rows].tolist()
        for number in dict.fromkeys(numbers):
            request = self.requests[number]
            of_request[number] = places.setdefault((*request.prompt_ids, *request.prefix), len(places))
        ids, mask = pad_left(list(places), self.pad_id)
        place = torch.tensor([of_request[number] for number in numbers], device=self.device)
        return ids.to(self.device), mask.to(self.device), place

    @staticmethod
    def in_order(place: Tensor) -> bool:
        """Whether every row follows a context of its own, in order."""
        return bool((place == torch.arange(len(place), device=place.device)).all())

    def noise(self, key: int, rows: Tensor, start: int, count: int) -> Tensor:
        """float64 [rows, count]: the uniforms of `count` new tokens from the `start`-th on."""
        position = self.given[rows, None] + torch.arange(start, start + count, device=rows.device)
        return uniforms_at(key, self.prompt_hash[rows, None], self.rollout[rows, None], position)
