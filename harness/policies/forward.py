"""From next-token logits to what a training step asks of a policy: log-probabilities, entropies, hidden states."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

import torch
from torch import Tensor
from torch.nn import functional

from harness.batch import TopLogits

__all__ = ["NEEDS", "TOP", "Forward", "Scored", "score_tokens", "token_kl"]

NEEDS = frozenset({"entropy", "hidden", "top_logits"})
TOP = 20


@dataclasses.dataclass(frozen=True)
class Forward:
    """What a policy says about N completions: log-probabilities [N, T], 0 where masked, and what was needed.

    `entropy` [N, T]; `hidden` [N, T, D], the state that predicts token t; `prompt_hidden` [N, D], the state at the last
    prompt token; `top_logits`, the 20 likeliest tokens with their log-probabilities. All but ids carry gradient.
    """

    logp: Tensor
    entropy: Tensor | None = None
    hidden: Tensor | None = None
    prompt_hidden: Tensor | None = None
    top_logits: TopLogits | None = None


@dataclasses.dataclass(frozen=True)
class Scored:
    """A backbone's answer for the M positions that predict completion tokens.

    `logits` [M, V]; `rows` and `columns` [M] say which token each position predicts (None: all N x T in order);
    `states` [M, D] and `last_states` [N, D] (the last prompt token's) where hidden states were asked for.
    """

    logits: Tensor
    rows: Tensor | None = None
    columns: Tensor | None = None
    states: Tensor | None = None
    last_states: Tensor | None = None


def score_tokens(
    scored: Scored, completion_ids: Tensor, mask: Tensor, temperature: Tensor | float, needs: Collection[str]
) -> Forward:
    """Log-probabilities of `completion_ids` [N, T] under softmax(logits / temperature), and the other needs.

    `mask` [N, T] bool; `temperature` a number or [N].
    """
    place = _Place(scored, completion_ids)
    logits = place.tempered(scored.logits, temperature)
    tokens = place.pack(completion_ids)
    entropy = top = None
    if "entropy" in needs or "top_logits" in needs:
        logps = torch.log_softmax(logits, -1)
        logp = logps.gather(1, tokens[:, None])[:, 0]
        if "entropy" in needs:
            entropy = place.spread(-(logps.exp() * logps).sum(-1), mask)
        if "top_logits" in needs:
            values, ids = logps.topk(min(TOP, logps.shape[1]), -1)
            top = TopLogits(ids=place.spread(ids, mask), logp=place.spread(values, mask))
    else:
        logp = -functional.cross_entropy(logits, tokens, reduction="none")
    return Forward(
        logp=place.spread(logp, mask),
        entropy=entropy,
        hidden=None if scored.states is None else place.spread(scored.states, mask),
        prompt_hidden=scored.last_states,
        top_logits=top,
    )


def token_kl(
    scored: Scored, other: Scored, completion_ids: Tensor, mask: Tensor, temperature: Tensor | float
) -> Tensor:
    """[N, T] the KL divergence of the first answer's distributions from the second's, of one and the same packing."""
    place = _Place(scored, completion_ids)
    first, second = (torch.log_softmax(place.tempered(x.logits, temperature), -1) for x in (scored, other))
    return place.spread((first.exp() * (first - second)).sum(-1).clamp_min(0), mask)


class _Place:
    """Moves values between the [N, T] grid of completions and the M packed positions of `Scored`."""

    def __init__(self, scored: Scored, completion_ids: Tensor) -> None:
        self.rows, self.columns = scored.rows, scored.columns
        self.shape = completion_ids.shape

    def pack(self, grid: Tensor) -> Tensor:
        return grid.reshape(-1) if self.rows is None else grid[self.rows, self.columns]

    def tempered(self, logits: Tensor, temperature: Tensor | float) -> Tensor:
        """Logits over the temperature, in float32 or float64."""
        if logits.dtype not in {torch.float32, torch.float64}:
            logits = logits.float()
        if isinstance(temperature, Tensor):
            return logits / self.of_rows(temperature.to(logits.dtype))[:, None]
        return logits if temperature == 1.0 else logits / temperature

    def of_rows(self, values: Tensor) -> Tensor:
        if self.rows is None:
            return values[:, None].expand(self.shape).reshape(-1)
        return values[self.rows]

    def spread(self, packed: Tensor, mask: Tensor) -> Tensor:
        """[N, T, ...] with zeros where `mask` is off."""
        shape = (*self.shape, *packed.shape[1:])
        if self.rows is None:
            grid = packed.view(shape)
        else:
            grid = packed.new_zeros(shape).index_put((self.rows, self.columns), packed)
        wide = mask.view(*mask.shape, *[1] * (packed.dim() - 1))
        return torch.where(wide, grid, torch.zeros((), dtype=packed.dtype, device=packed.device))
