"""How ragged prompts and completions become packed tokens: every distinct prompt once, no padding at all."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor

__all__ = ["Grid", "Packing"]


class _Scatter(torch.autograd.Function):
    """Rows to distinct places of a larger zero tensor; the way back is a plain gather."""

    @staticmethod
    def forward(ctx: Any, packed: Tensor, places: Tensor, size: int) -> Tensor:
        ctx.save_for_backward(places)
        return packed.new_zeros(size, *packed.shape[1:]).index_copy_(0, places, packed)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return grad.index_select(0, ctx.saved_tensors[0]), None, None


class _Gather(torch.autograd.Function):
    """Rows from distinct places; the way back writes each gradient to its place (no accumulation needed)."""

    @staticmethod
    def forward(ctx: Any, full: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        ctx.size = full.shape[0]
        return full.index_select(0, places)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad.new_zeros(ctx.size, *grad.shape[1:]).index_copy_(0, ctx.saved_tensors[0], grad), None


@dataclasses.dataclass(frozen=True)
class Grid:
    """Ragged rows as a right-padded [rows, width] grid; `places` of the packed tokens in it, None when it is full."""

    rows: int
    width: int
    places: Tensor | None

    @staticmethod
    def of(lengths: Tensor) -> Grid:
        """The smallest grid for rows of these lengths."""
        rows = len(lengths)
        width = int(lengths.max()) if rows else 0
        inside = torch.arange(width, device=lengths.device) < lengths[:, None]
        return Grid(rows, width, None if bool(inside.all()) else inside.view(-1).nonzero()[:, 0])

    def spread(self, packed: Tensor) -> Tensor:
        """Packed tokens [M, ...] to [rows, width, ...], zeros elsewhere."""
        if self.places is not None:
            packed = _Scatter.apply(packed, self.places, self.rows * self.width)
        return packed.view(self.rows, self.width, *packed.shape[1:])

    def pack(self, grid: Tensor) -> Tensor:
        """[rows, width, ...] to packed tokens [M, ...]."""
        flat = grid.reshape(self.rows * self.width, *grid.shape[2:])
        return flat if self.places is None else _Gather.apply(flat, self.places)


@dataclasses.dataclass(frozen=True)
class Packing:
    """N completions behind U distinct prompts as packed tokens: first all prompt tokens, then all completion tokens.

    The last token of a completion is no input: nothing is predicted from it. `ids` and `positions` [M] are what the
    network reads; `split` is the number of prompt tokens; `prompt_of` [N] the prompt of each completion; `outputs`
    [K] the packed positions that predict completion token (rows[k], columns[k]); `last` [N] that of each prompt's end;
    `bias` additive mask of the completions' attention over [prompt | completion], [1 or N, 1, width, P + width].
    """

    ids: Tensor
    positions: Tensor
    split: int
    prompts: Grid
    completions: Grid
    prompt_of: Tensor
    outputs: Tensor
    rows: Tensor
    columns: Tensor
    last: Tensor
    bias: Tensor

    @staticmethod
    def of(
        prompt_ids: Tensor, prompt_mask: Tensor, completion_ids: Tensor, lengths: Tensor, dtype: torch.dtype
    ) -> Packing:
        """Pack left-padded prompts [N, P] and right-padded completions [N, T] of the given lengths [N]."""
        device = prompt_ids.device
        valid = prompt_mask.bool()
        marked = torch.where(valid, prompt_ids, torch.full_like(prompt_ids, -1))
        distinct, prompt_of = _distinct(marked)
        prompt_lengths = (distinct >= 0).sum(1)
        inputs = (lengths - 1).clamp_min(0)
        prompts, completions = Grid.of(prompt_lengths), Grid.of(inputs)
        split, own = int(prompt_lengths.sum()), prompt_lengths[prompt_of]
        read = torch.arange(completion_ids.shape[1], device=device) < inputs[:, None]
        row, column = read.nonzero(as_tuple=True)
        last = prompt_lengths.cumsum(0)[prompt_of] - 1
        nonempty = (lengths > 0).nonzero()[:, 0]
        return Packing(
            ids=torch.cat([distinct[distinct >= 0], completion_ids[row, column]]),
            positions=torch.cat([_counting(prompt_lengths), own[row] + column]),
            split=split,
            prompts=prompts,
            completions=completions,
            prompt_of=prompt_of,
            outputs=torch.cat([last[nonempty], split + torch.arange(len(row), device=device)]),
            rows=torch.cat([nonempty, row]),
            columns=torch.cat([torch.zeros_like(nonempty), column + 1]),
            last=last,
            bias=_bias(own, prompts.width, completions.width, dtype),
        )


def _distinct(marked: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct rows of a small matrix, and which one each row is; neighbours first, as groups lie together."""
    if len(marked) < 2:
        return marked, torch.zeros(len(marked), dtype=torch.long, device=marked.device)
    starts = torch.cat([marked.new_ones(1, dtype=torch.bool), (marked[1:] != marked[:-1]).any(1)])
    runs, run_of = marked[starts], starts.cumsum(0) - 1
    distinct, of_run = torch.unique(runs, dim=0, return_inverse=True)
    return distinct, of_run[run_of]


def _counting(lengths: Tensor) -> Tensor:
    """0 .. length-1 for every length, one after the other."""
    starts = (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
    return torch.arange(len(starts), device=lengths.device) - starts


def _bias(prompt_lengths: Tensor, prompt_width: int, width: int, dtype: torch.dtype) -> Tensor:
    """0 where a completion token may look, -inf elsewhere: real prompt tokens, and completion tokens up to itself."""
    device = prompt_lengths.device
    causal = torch.ones(width, width, dtype=torch.bool, device=device).tril()
    real = torch.arange(prompt_width, device=device) < prompt_lengths[:, None]
    if bool(real.all()):
        real = real[:1]
    seen = torch.cat([real[:, None].expand(-1, width, -1), causal.expand(len(real), -1, -1)], 2)
    return torch.zeros(seen.shape, dtype=dtype, device=device).masked_fill_(~seen, float("-inf"))[:, None]
