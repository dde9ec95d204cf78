"""From next-token logits to what a training step asks of a policy: log-probabilities, entropies, hidden states."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from harness.batch import TopLogits
from harness.policies.recompute import again

if TYPE_CHECKING:
    from harness.policies.head import Head

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

    `inputs` [M, D] are what the `head` reads, or else the logits [M, V] are `given`; `rows` and `columns` [M] say which
    token each position predicts (None: all N x T in order); `states` [M, D] and `last_states` [N, D] (the last prompt
    token's) where hidden states were asked for.
    """

    inputs: Tensor
    head: Head | None
    given: Tensor | None = None
    rows: Tensor | None = None
    columns: Tensor | None = None
    states: Tensor | None = None
    last_states: Tensor | None = None

    def pieces(self, mask: Tensor) -> list[Tensor | None]:
        """The positions whose logits exist at one time: all (None), or of those that `mask` [M] lets in some."""
        count = len(self.inputs)
        if self.head is None or self.head.pieces(count) >= count:
            return [None]
        return list(mask.nonzero()[:, 0].split(self.head.pieces(count)))

    def logits(self, at: Tensor | None) -> Tensor:
        """[K, V] of the positions `at`."""
        if self.head is None:
            assert self.given is not None
            return self.given
        return self.head(self.inputs if at is None else self.inputs[at])


def score_tokens(
    scored: Scored, completion_ids: Tensor, mask: Tensor, temperature: Tensor | float, needs: Collection[str]
) -> Forward:
    """Log-probabilities of `completion_ids` [N, T] under softmax(logits / temperature), and the other needs.

    `mask` [N, T] bool; `temperature` a number or [N]. Where a vocabulary is large the logits of some tokens exist at
    a time, and once more for their gradient.
    """
    place = _Place(scored, completion_ids)
    tokens, heat = place.pack(completion_ids), place.heat(temperature)

    def numbers(at: Tensor | None) -> dict[str, Tensor]:
        logits = tempered(scored.logits(at), heat, at)
        return _numbers(logits, tokens if at is None else tokens[at], needs)

    pieces = scored.pieces(place.pack(mask))
    parts = [numbers(None) if at is None else again(numbers, at) for at in pieces]
    found = {name: place.spread([part[name] for part in parts], pieces, mask) for name in parts[0]}
    return Forward(
        logp=found["logp"],
        entropy=found.get("entropy"),
        hidden=None if scored.states is None else place.spread([scored.states], [None], mask),
        prompt_hidden=scored.last_states,
        top_logits=TopLogits(ids=found["ids"], logp=found["values"]) if "ids" in found else None,
    )


def token_kl(
    scored: Scored, other: Scored, completion_ids: Tensor, mask: Tensor, temperature: Tensor | float
) -> Tensor:
    """[N, T] the KL divergence of the first answer's distributions from the second's, of one and the same packing."""
    place = _Place(scored, completion_ids)
    heat, pieces, parts = place.heat(temperature), scored.pieces(place.pack(mask)), []
    for at in pieces:
        first, second = (torch.log_softmax(tempered(x.logits(at), heat, at), -1) for x in (scored, other))
        parts.append((first.exp() * (first - second)).sum(-1).clamp_min(0))
    return place.spread(parts, pieces, mask)


def _numbers(logits: Tensor, tokens: Tensor, needs: Collection[str]) -> dict[str, Tensor]:
    """`logp` [K], and of the needs `entropy` [K], `ids` and `values` [K, 20], from logits [K, V]."""
    if "entropy" not in needs and "top_logits" not in needs:
        return {"logp": -functional.cross_entropy(logits, tokens, reduction="none")}
    logps = torch.log_softmax(logits, -1)
    found = {"logp": logps.gather(1, tokens[:, None])[:, 0]}
    if "entropy" in needs:
        found["entropy"] = -(logps.exp() * logps).sum(-1)
    if "top_logits" in needs:
        found["values"], found["ids"] = logps.topk(min(TOP, logps.shape[1]), -1)
    return found


def tempered(logits: Tensor, heat: Tensor | float, at: Tensor | None) -> Tensor:
    """Logits over the temperature (a number, or that of every position), in float32 or float64."""
    if logits.dtype not in {torch.float32, torch.float64}:
        logits = logits.float()
    if isinstance(heat, Tensor):
        return logits / (heat if at is None else heat[at]).to(logits.dtype)[:, None]
    return logits if heat == 1.0 else logits / heat


class _Place:
    """Moves values between the [N, T] grid of completions and the M packed positions of `Scored`."""

    def __init__(self, scored: Scored, completion_ids: Tensor) -> None:
        self.rows, self.columns = scored.rows, scored.columns
        self.shape = completion_ids.shape

    def pack(self, grid: Tensor) -> Tensor:
        """[N, T] to the M positions."""
        return grid.reshape(-1) if self.rows is None else grid[self.rows, self.columns]

    def heat(self, temperature: Tensor | float) -> Tensor | float:
        """The temperature of every position, where rows differ."""
        if not isinstance(temperature, Tensor):
            return temperature
        if self.rows is None:
            return temperature[:, None].expand(self.shape).reshape(-1)
        return temperature[self.rows]

    def spread(self, parts: Sequence[Tensor], pieces: Sequence[Tensor | None], mask: Tensor) -> Tensor:
        """Values of the positions `pieces` (None: all) as [N, T, ...] with zeros where `mask` is off."""
        packed = torch.cat(list(parts)) if len(parts) > 1 else parts[0]
        shape = (*self.shape, *packed.shape[1:])
        places = self._places(pieces, mask.device)
        grid = packed.view(shape) if places is None else packed.new_zeros(shape).index_put(places, packed)
        wide = mask.view(*mask.shape, *[1] * (packed.dim() - 1))
        return torch.where(wide, grid, torch.zeros((), dtype=packed.dtype, device=packed.device))

    def _places(self, pieces: Sequence[Tensor | None], device: torch.device) -> tuple[Tensor, Tensor] | None:
        """Row and column of every value; None where they lie in order."""
        chosen = [at for at in pieces if at is not None]
        if self.rows is not None and self.columns is not None:
            at = torch.cat(chosen) if chosen else slice(None)
            return self.rows[at], self.columns[at]
        if not chosen:
            return None
        at = torch.cat(chosen).to(device)
        return at.div(self.shape[1], rounding_mode="floor"), at % self.shape[1]
