"""Weights, gradients and moments divided over ranks (FSDP2, `torch.distributed.fsdp.fully_shard`).

Every decoder layer is gathered when it computes and freed again; sampling gathers all of them for its duration. What
is outside of layers (embeddings, the last norm, the head) stays whole on every rank: it is used outside of any
module's forward, and is a small part of models that need this.
Passes of a sharded policy are collective, so every rank makes as many, and of blank rows where it has no others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["divide", "full", "share_of", "whole"]


def divide(model: Any, size: int, *, average: bool = False) -> None:
    """Shard a causal LM over `size` ranks in place; gradients are summed over ranks (or averaged)."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(next(model.parameters()).device.type, (size,))
    layers = max((module for module in model.modules() if isinstance(module, nn.ModuleList)), key=len)
    for layer in layers:
        fully_shard(layer, mesh=mesh)
    outside = set(model.parameters()) - set(layers.parameters())
    fully_shard(model.base_model, mesh=mesh, ignored_params=outside)  # makes the layers one network
    for part in _parts(model):
        part.set_gradient_divide_factor(float(size) if average else 1.0)


@contextlib.contextmanager
def whole(model: nn.Module) -> Iterator[None]:
    """All weights at hand in the block, where forward passes exchange nothing; nothing happens to a plain model."""
    parts = _parts(model)
    for part in parts:
        part.set_reshard_after_forward(False, recurse=False)
        part.unshard()
    try:
        yield
    finally:
        for part in parts:
            part.reshard()
            part.set_reshard_after_forward(True, recurse=False)


def full(tensor: Tensor) -> Tensor:
    """The whole of a tensor that ranks share (all must ask), or the tensor itself."""
    gathered: Any = getattr(tensor, "full_tensor", None)
    return tensor if gathered is None else gathered()


def share_of(value: Tensor, like: Tensor) -> Tensor:
    """`value` as `like` is kept: this rank's part of it where ranks share `like`, else all of it."""
    mesh: Any = getattr(like, "device_mesh", None)
    if mesh is None:
        return value.to(like.device)
    from torch.distributed.tensor import distribute_tensor

    placements: Any = getattr(like, "placements", None)
    return distribute_tensor(value.to(like.device), mesh, placements, src_data_rank=None)


def _parts(model: nn.Module) -> list[Any]:
    """The pieces of a sharded model, the whole of it first; none of a plain one."""
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return []
    from torch.distributed.fsdp import FSDPModule

    return [module for module in model.modules() if isinstance(module, FSDPModule)]
