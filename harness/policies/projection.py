"""Linear layers of a network, with or without a low-rank adapter (arXiv 2106.09685), as one product or two."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["Arrange", "is_linear", "prepared"]

Arrange = Callable[[Tensor], Tensor]


def is_linear(layer: Any) -> bool:
    """Whether a layer is a plain linear one, or one under a single adapter of the plain kind that is switched on."""
    if type(layer) is nn.Linear:
        return True
    if not hasattr(layer, "lora_A") or type(getattr(layer, "base_layer", None)) is not nn.Linear:
        return False
    active = list(layer.active_adapters)
    if layer.merged or layer.disable_adapters or len(active) != 1 or set(layer.lora_A) != set(active):
        return False
    parts = (layer.lora_A[active[0]], layer.lora_B[active[0]])
    plain = all(type(part) is nn.Linear and part.bias is None for part in parts)
    return plain and not getattr(layer, "lora_variant", None) and isinstance(layer.lora_dropout[active[0]], nn.Identity)


def low_rank(layer: Any) -> tuple[Tensor, Tensor] | None:
    """Down [r, in] and scaled up [out, r] of a layer's adapter; None without one."""
    if type(layer) is nn.Linear:
        return None
    (name,) = layer.active_adapters
    return layer.lora_A[name].weight, layer.lora_B[name].weight * layer.scaling[name]


def prepared(
    layers: Sequence[Any], dtype: torch.dtype, arrange: Sequence[Arrange | None] | None = None
) -> Callable[[Tensor], Tensor]:
    """The function of layers over one input, y [M, in] -> [M, sum of out], with weights in `dtype`. Inference only.

    `arrange` moves the outputs of a layer, as rows of its weight. Adapters stay products of their own: added into
    weights of bfloat16, the first steps of training would vanish.
    """
    orders = arrange or [None] * len(layers)
    plain = [getattr(layer, "base_layer", layer) for layer in layers]
    weight = torch.cat([_moved(p.weight, order) for p, order in zip(plain, orders, strict=True)]).to(dtype)
    bias = None
    if plain[0].bias is not None:
        bias = torch.cat([_moved(p.bias, order) for p, order in zip(plain, orders, strict=True)]).to(dtype)
    pairs = [low_rank(layer) for layer in layers]
    if not any(pairs):
        return functools.partial(functional.linear, weight=weight, bias=bias)
    down = torch.cat([pair[0] for pair in pairs if pair is not None]).to(dtype)
    blocks = [
        _moved(pair[1], order) if pair is not None else p.weight.new_zeros(len(p.weight), 0)
        for pair, p, order in zip(pairs, plain, orders, strict=True)
    ]
    up = torch.block_diag(*(block.to(dtype) for block in blocks)).t().contiguous()

    def product(y: Tensor) -> Tensor:
        return functional.linear(y, weight, bias).addmm_(functional.linear(y, down), up)

    return product


def _moved(weight: Tensor, order: Arrange | None) -> Tensor:
    return weight if order is None else order(weight)
