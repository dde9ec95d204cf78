"""Copies of what plugins remember, so that one moment of a trial can be lived through again and again."""

from __future__ import annotations

import copy
import dataclasses
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from harness.host import Stack

__all__ = ["Memory", "graphs"]

_DEEP = 6  # levels of containers and objects that are looked into


class Memory:
    """The attributes of every plugin of a stack, hyper-parameters apart, as they were when it was made."""

    def __init__(self, stack: Stack) -> None:
        self._plugins = [plugin for _, plugin in stack.plugins]
        self._kept = {id(item) for item in stack.restored}  # `run` and built modules are the loop's
        self._saved = [self._copies(vars(plugin)) for plugin in self._plugins]

    def restore(self) -> None:
        """Put everything back, as copies."""
        for plugin, saved in zip(self._plugins, self._saved, strict=True):
            fields = {field.name for field in dataclasses.fields(plugin)}
            for name in set(vars(plugin)) - fields - set(saved):
                object.__delattr__(plugin, name)
            for name, value in self._copies(saved).items():
                if name not in fields:
                    object.__setattr__(plugin, name, value)

    def _copies(self, attributes: dict[str, Any]) -> dict[str, Any]:
        return {name: self._copy(value) for name, value in attributes.items()}

    def _copy(self, value: Any) -> Any:
        if id(value) in self._kept or isinstance(value, nn.Module) or value is None:
            return value
        if isinstance(value, Tensor):
            return value.detach().clone()
        if isinstance(value, torch.Generator):
            twin = torch.Generator(value.device)
            twin.set_state(value.get_state())
            return twin
        if type(value) is dict:
            return {self._copy(key): self._copy(item) for key, item in value.items()}
        if type(value) is deque:
            return deque(map(self._copy, value), value.maxlen)
        if type(value) in (list, tuple, set, frozenset):
            return type(value)(map(self._copy, value))
        try:
            return copy.deepcopy(value)
        except Exception:  # noqa: BLE001 - what cannot be copied is shared; the check of state names it
            return value


def graphs(stack: Stack) -> list[str]:
    """Attributes of plugins that hold a tensor with a graph, as `label.attribute`."""
    kept = {id(item) for item in stack.restored}
    return [
        f"{label}.{name}"
        for label, plugin in stack.plugins
        for name, value in vars(plugin).items()
        if any(tensor.requires_grad or tensor.grad_fn is not None for tensor in _tensors(value, kept, _DEEP))
    ]


def _tensors(value: Any, skipped: set[int], deep: int) -> Iterator[Tensor]:
    if id(value) in skipped or isinstance(value, nn.Module | str | int | float) or not deep:
        return
    if isinstance(value, Tensor):
        yield value
        return
    if isinstance(value, dict):
        inside = [*value.values()]
    elif isinstance(value, list | tuple | set | frozenset | deque):
        inside = [*value]
    else:
        inside = [*getattr(value, "__dict__", {}).values()]
    for item in inside:
        yield from _tensors(item, skipped, deep - 1)
