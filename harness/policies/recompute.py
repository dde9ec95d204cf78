"""Gradient checkpointing: a layer keeps what went into it, and runs again on the way back (arXiv 1604.06174)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from harness.errors import UsageError

__all__ = ["again", "recompute_layers"]


def again(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """The function's value; what it computes on the way is not kept but computed again for the gradient.

    Nothing draws random numbers: dropout is off.
    """
    if not torch.is_grad_enabled():
        return function(*args, **options)
    return checkpoint(function, *args, use_reentrant=False, preserve_rng_state=False, **options)


class _Again:
    """A layer's forward, run again on the way back."""

    def __init__(self, forward: Callable[..., Any]) -> None:
        self.forward = forward

    def __call__(self, *args: Any, **options: Any) -> Any:
        return again(self.forward, *args, **options)


def recompute_layers(model: Any) -> None:
    """Make every layer that transformers would checkpoint recompute itself.

    Transformers' own switch works in training mode only, which would turn dropout on. Raises UsageError for a model
    without such layers.
    """
    from transformers.modeling_layers import GradientCheckpointingLayer

    layers = [module for module in model.modules() if isinstance(module, GradientCheckpointingLayer)]
    if not layers:
        raise UsageError(
            f"policy.gradient_checkpointing: {type(model).__name__} marks no layer for it; set it to false"
        )
    for layer in layers:
        if not isinstance(layer.forward, _Again):
            layer.forward = _Again(layer.forward)
