"""The one place that knows how transformers keeps keys and values, and what it calls them.

The argument was `past_key_values` for years and is `cache` in newer releases, and so is the field of the output; a
layer's methods changed their arguments too. Plain layers are replaced by `GrowingLayer`, which writes in place.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import CacheLayerMixin, DynamicLayer

__all__ = ["GrowingLayer", "cache_argument", "new_cache", "parameters_of", "returned_cache"]

NAMES = ("cache", "past_key_values")
GROWTH = 32  # positions by which a layer grows


class GrowingLayer(CacheLayerMixin):
    """Keys and values [B, heads, room, head] of which the first `length` positions are in use.

    Transformers' own dynamic layer copies everything at every token.
    """

    is_sliding = False

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.is_initialized = False  # older releases do not say so themselves
        self.capacity = capacity
        self.length = 0

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor | None = None) -> None:
        """Make room for the first keys (and values; older releases give keys alone)."""
        values = key_states if value_states is None else value_states
        self.dtype, self.device = key_states.dtype, key_states.device
        room = self._room(key_states.shape[2])
        self.keys = key_states.new_empty(*key_states.shape[:2], room, key_states.shape[3])
        self.values = values.new_empty(*values.shape[:2], room, values.shape[3])
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Append new positions; keys and values of all positions so far."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        end = self.length + key_states.shape[2]
        if end > self.keys.shape[2]:
            self.keys, self.values = (self._moved(old, None, end) for old in (self.keys, self.values))
        self.keys[:, :, self.length : end] = key_states
        self.values[:, :, self.length : end] = value_states
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def batch_select_indices(self, indices: Tensor) -> None:
        """Make row i what row indices[i] was."""
        if self.is_initialized:
            self.keys, self.values = (self._moved(old, indices, self.length) for old in (self.keys, self.values))

    def _moved(self, old: Tensor, rows: Tensor | None, length: int) -> Tensor:
        used = old[:, :, : self.length] if rows is None else old[rows, :, : self.length]
        new = old.new_empty(*used.shape[:2], self._room(length), used.shape[3])
        new[:, :, : self.length] = used
        return new

    def _room(self, length: int) -> int:
        return max(min(self.capacity, -(-(length + 1) // GROWTH) * GROWTH), length)

    def get_seq_length(self, *_: Any) -> int:
        """Positions in use."""
        return self.length

    def get_mask_sizes(self, query: int | Tensor) -> tuple[int, int]:
        """Width and offset of the mask for new positions (their number, or in older releases the positions)."""
        new = query if isinstance(query, int) else query.shape[0]
        return self.length + new, 0

    def get_max_length(self) -> int:
        """No bound."""
        return -1

    get_max_cache_shape = get_max_length  # the older name


def parameters_of(model: Any) -> Mapping[str, inspect.Parameter]:
    """What the model's forward takes; an adapter's wrapper hides it behind keyword arguments."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    return inspect.signature(inner.forward).parameters


def cache_argument(model: Any) -> str:
    """The name under which the model's forward takes its cache."""
    parameters = parameters_of(model)
    for name in NAMES:
        if name in parameters:
            return name
    return NAMES[-1]


def new_cache(model: Any, capacity: int) -> Any:
    """An empty cache for up to `capacity` positions; special layers (sliding windows ...) stay as they are."""
    cache = DynamicCache(config=model.config)
    cache.layers = [GrowingLayer(capacity) if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache


def returned_cache(output: Any, given: Any) -> Any:
    """The cache in a model's output, or the one that was given and updated in place."""
    for name in NAMES:
        value = output.get(name)
        if value is not None:
            return value
    return given
