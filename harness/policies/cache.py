"""The one place that knows how transformers calls its key-value cache.

The argument was `past_key_values` for years and is `cache` in newer releases, and so is the field of the output.
"""

from __future__ import annotations

import inspect
from typing import Any

from torch import Tensor

__all__ = ["cache_argument", "new_cache", "returned_cache", "select_rows"]

NAMES = ("cache", "past_key_values")


def cache_argument(model: Any) -> str:
    """The name under which the model's forward takes its cache."""
    parameters = inspect.signature(model.forward).parameters
    for name in NAMES:
        if name in parameters:
            return name
    return NAMES[-1]


def new_cache(model: Any, capacity: int) -> Any:  # noqa: ARG001
    """An empty cache for the model."""
    from transformers import DynamicCache

    return DynamicCache(config=model.config)


def returned_cache(output: Any, given: Any) -> Any:
    """The cache in a model's output, or the one that was given and updated in place."""
    for name in NAMES:
        value = output.get(name) if hasattr(output, "get") else getattr(output, name, None)
        if value is not None:
            return value
    return given


def select_rows(cache: Any, index: Tensor) -> Any:
    """The cache with row i what row index[i] was."""
    cache.batch_select_indices(index)
    return cache
