"""Decoding with a lean Llama forward: weights prepared once per sampling pass, a cache that is written in place."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from harness.policies.llama import LlamaShape, interleave, rotate, rotations
from harness.policies.projection import prepared

__all__ = ["LlamaDecoder"]

Product = Callable[[Tensor], Tensor]

GROWTH = 16  # positions by which a cache grows: small, as most completions end early and rows are then moved anyway


@dataclasses.dataclass
class _Layer:
    """One layer's weights as the products want them, and its keys and values [B * KV, capacity, head]."""

    qkv: Product
    out: Product
    gate: Product
    up: Product
    down: Product
    before: Tensor
    after: Tensor
    keys: Tensor
    values: Tensor


class LlamaDecoder:
    """Decoding step by step: `prefill` once, then `select` rows and `step` over and over. Inference only."""

    def __init__(self, model: Any, shape: LlamaShape, precision: str, capacity: int) -> None:
        self.model, self.shape = model, shape
        self.dtype = model.model.norm.weight.dtype
        self.compute = torch.bfloat16 if precision == "bfloat16" else self.dtype
        self.capacity = capacity
        device = model.model.norm.weight.device
        self.factors = rotations(model, torch.arange(capacity, device=device), self.dtype)
        self.layers = [self._prepare(layer) for layer in model.model.layers]
        self.length = 0
        self.offsets: Tensor | None = None  # [B] positions lost to left padding, None without any
        self.bias: Tensor | None = None  # [B * KV, 1, capacity] additive mask of the padding

    def _prepare(self, layer: Any) -> _Layer:
        attention, mlp, cast = layer.self_attn, layer.mlp, self.compute
        turned = functools.partial(interleave, head=self.shape.head)
        before = layer.input_layernorm.weight
        empty = before.new_empty(0)
        return _Layer(
            qkv=prepared([attention.q_proj, attention.k_proj, attention.v_proj], cast, [turned, turned, None]),
            out=prepared([attention.o_proj], cast),
            gate=prepared([mlp.gate_proj], cast),
            up=prepared([mlp.up_proj], cast),
            down=prepared([mlp.down_proj], cast),
            before=before,
            after=layer.post_attention_layernorm.weight,
            keys=empty,
            values=empty,
        )

    # -- the three calls of a sampler ----------------------------------------------------------------------------

    def prefill(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Logits [B, V] after the left-padded prompts [B, P]."""
        rows, width = ids.shape
        self.length = width
        pads = width - mask.sum(1)
        seen = None
        if bool(pads.any()):
            self.offsets = pads
            self._set_bias(pads)
            causal = torch.ones(width, width, dtype=torch.bool, device=ids.device).tril()
            itself = torch.eye(width, dtype=torch.bool, device=ids.device)  # a padded query must see something
            seen = (causal & mask.bool()[:, None] | itself)[:, None]
        position = (torch.arange(width, device=ids.device) - pads[:, None]).clamp_min(0).view(-1)
        factors = self.factors[position]
        x = self.model.model.embed_tokens(ids.reshape(-1))
        room = self._room(width)
        for layer in self.layers:
            q, k, v = self._project(x, layer, factors)
            q, k, v = (part.view(rows, width, -1, self.shape.head).transpose(1, 2) for part in (q, k, v))
            layer.keys, layer.values = (self._stored(part, room) for part in (k, v))
            repeat = self.shape.heads // self.shape.kv_heads
            k, v = k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1)
            read = functional.scaled_dot_product_attention(q, k, v, attn_mask=seen, is_causal=seen is None)
            x = self._finish(x, read.transpose(1, 2).reshape(rows * width, -1), layer)
        return self._logits(x.view(rows, width, -1)[:, -1])

    def select(self, index: Tensor) -> None:
        """Make row i of the batch what row index[i] was; rows may repeat or go."""
        room = self._room(self.length)
        for layer in self.layers:
            for name in ("keys", "values"):
                old: Tensor = getattr(layer, name)
                rows = old.view(-1, self.shape.kv_heads, *old.shape[1:])
                if old.shape[1] == room:  # whole rows move as one piece of memory each, unused room included
                    new = rows.flatten(1).index_select(0, index)
                else:
                    new = old.new_empty(len(index), self.shape.kv_heads, room, self.shape.head)
                    new[:, :, : self.length] = rows[index, :, : self.length]
                setattr(layer, name, new.view(-1, room, self.shape.head))
        if self.offsets is not None:
            self.offsets = self.offsets[index]
            self._set_bias(self.offsets)

    def step(self, tokens: Tensor) -> Tensor:
        """Logits [B, V] after one more token [B] per row."""
        rows, at = len(tokens), self.length
        if at == self.layers[0].keys.shape[1]:
            self.select(torch.arange(rows, device=tokens.device))
        self.length += 1
        factors = self.factors[at] if self.offsets is None else self.factors[at - self.offsets]
        x = self.model.model.embed_tokens(tokens)
        for layer in self.layers:
            q, k, v = self._project(x, layer, factors)
            layer.keys.view(rows, self.shape.kv_heads, -1, self.shape.head)[:, :, at] = k
            layer.values.view(rows, self.shape.kv_heads, -1, self.shape.head)[:, :, at] = v
            x = self._finish(x, self._read(q, layer), layer)
        return self._logits(x)

    # -- parts of a layer ----------------------------------------------------------------------------------------

    def _project(self, x: Tensor, layer: _Layer, factors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values [B, H or KV, head], rotated."""
        shape = self.shape
        y = functional.rms_norm(x, (x.shape[-1],), layer.before, shape.eps).to(self.compute)
        both = layer.qkv(y).view(len(x), -1, shape.head)
        turned = rotate(both[:, : shape.heads + shape.kv_heads].to(self.dtype), factors).to(self.compute)
        return turned[:, : shape.heads], turned[:, shape.heads :], both[:, shape.heads + shape.kv_heads :]

    def _read(self, q: Tensor, layer: _Layer) -> Tensor:
        """Attention of one query per row over the cache: [B, H * head].

        Plain batched products beat the fused kernel at one query per row by a third (float32, CPU); under bfloat16
        the fused kernel keeps scores in float32.
        """
        rows, shape = len(q), self.shape
        group = shape.heads // shape.kv_heads
        q = q.reshape(rows * shape.kv_heads, group, shape.head)
        keys, values = layer.keys[:, : self.length], layer.values[:, : self.length]
        bias = None if self.bias is None else self.bias[:, :, : self.length]
        if self.compute == torch.bfloat16:
            mask = None if bias is None else bias[:, None]
            read = functional.scaled_dot_product_attention(q[:, None], keys[:, None], values[:, None], attn_mask=mask)
            return read.reshape(rows, -1)
        scale = shape.head**-0.5
        if bias is None:
            scores = torch.bmm(q * scale, keys.transpose(1, 2))
        else:
            scores = torch.baddbmm(bias, q, keys.transpose(1, 2), alpha=scale)
        return torch.bmm(torch.softmax(scores, -1), values).view(rows, -1)

    def _finish(self, x: Tensor, read: Tensor, layer: _Layer) -> Tensor:
        x = x + layer.out(read)
        y = functional.rms_norm(x, (x.shape[-1],), layer.after, self.shape.eps).to(self.compute)
        return x.add_(layer.down(functional.silu(layer.gate(y)).mul_(layer.up(y))))

    def _logits(self, x: Tensor) -> Tensor:
        head, norm = self.model.lm_head, self.model.model.norm
        return functional.linear(
            functional.rms_norm(x, (x.shape[-1],), norm.weight, self.shape.eps), head.weight, head.bias
        )

    # -- the cache -----------------------------------------------------------------------------------------------

    def _room(self, length: int) -> int:
        return min(self.capacity, -(-(length + 1) // GROWTH) * GROWTH)

    def _stored(self, part: Tensor, room: int) -> Tensor:
        rows, heads, width, head = part.shape
        cache = torch.empty(rows, heads, room, head, dtype=part.dtype, device=part.device)
        cache[:, :, :width] = part
        return cache.view(rows * heads, room, head)

    def _set_bias(self, pads: Tensor) -> None:
        padded = torch.arange(self.capacity, device=pads.device) < pads[:, None]
        bias = torch.zeros(padded.shape, dtype=self.compute, device=pads.device).masked_fill_(padded, float("-inf"))
        self.bias = bias.repeat_interleave(self.shape.kv_heads, 0)[:, None]
