"""Plugin state for checkpoints: plain attributes become a tree of JSON values and tensors, and back."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from harness.batch import Batch, PromptRecord, TopLogits
from harness.errors import PluginError

__all__ = ["load", "save"]

_TYPE = "__type__"  # tags what JSON has no type for
_RECORDS: dict[str, type] = {cls.__name__: cls for cls in (Batch, PromptRecord, TopLogits)}
_CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "tuple": tuple, "set": set, "frozenset": frozenset, "deque": lambda items: deque(*items),
}  # fmt: skip


def save(label: str, plugin: Any, skip: Iterable[Any] = ()) -> dict[str, Any]:
    """The attributes of a plugin, hyper-parameters apart: nested dicts with string keys and lists, of tensors,
    numbers, strings, bools and None; other supported types are tagged dicts.

    skip: objects that the loop restores itself (`run`, modules from `build`). Raises PluginError naming an attribute
    that cannot be saved.
    """
    skipped = {id(item) for item in skip}
    fields = {field.name for field in dataclasses.fields(plugin)}
    tree = {}
    for name, value in vars(plugin).items():
        if name not in fields and id(value) not in skipped:
            tree[name] = _encode(value, f"{label}.{name}", skipped)
    return tree


def load(plugin: Any, tree: Mapping[str, Any]) -> None:
    """Set the attributes that `save` gave; generators that the plugin already holds are rewound in place."""
    for name, value in tree.items():
        held = vars(plugin).get(name)
        if isinstance(held, torch.Generator) and isinstance(value, dict):
            held.set_state(value["state"])
        else:
            setattr(plugin, name, _decode(value))


def _encode(value: Any, where: str, skipped: set[int]) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, nn.Module | nn.Parameter):
        raise PluginError(
            f"{where} is a {type(value).__name__} that `build` did not return, so it is never trained or saved"
        )
    if isinstance(value, Tensor):
        return _tensor(value, where)
    if isinstance(value, torch.Generator):
        return {_TYPE: "generator", "device": str(value.device), "state": value.get_state()}
    if type(value) in (list, tuple, set, frozenset, deque):
        return _sequence(value, where, skipped)
    if isinstance(value, Mapping) and type(value) is dict:
        return _mapping(value, where, skipped)
    if type(value) in _RECORDS.values():
        content = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {_TYPE: type(value).__name__, "fields": _encode(content, where, skipped)}
    raise PluginError(
        f"{where} is a {type(value).__name__}, which a checkpoint cannot hold; plugin state is numbers, strings, "
        "tensors, lists, tuples, sets and dicts of those, Batch, and modules from `build`"
    )


def _tensor(value: Tensor, where: str) -> Tensor:
    if value.requires_grad:
        raise PluginError(
            f"{where} is a tensor that carries gradients; keep {where}.detach(), or return it from `build`"
        )
    return value.detach().clone()


def _sequence(value: Any, where: str, skipped: set[int]) -> Any:
    kind = type(value).__name__
    ordered = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
    items = [_encode(item, f"{where}[{position}]", skipped) for position, item in enumerate(ordered)]
    if kind == "list":
        return items
    return {_TYPE: kind, "items": [items, value.maxlen] if isinstance(value, deque) else items}


def _mapping(value: dict[Any, Any], where: str, skipped: set[int]) -> Any:
    if all(type(key) is str for key in value) and _TYPE not in value:
        return {key: _encode(item, f"{where}[{key!r}]", skipped) for key, item in value.items()}
    pairs = [[_encode(key, where, skipped), _encode(item, f"{where}[{key!r}]", skipped)] for key, item in value.items()]
    return {_TYPE: "dict", "items": pairs}


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if isinstance(value, Tensor):
        return value.clone()
    if not isinstance(value, Mapping):
        return value
    kind = value.get(_TYPE)
    if kind is None:
        return {key: _decode(item) for key, item in value.items()}
    if kind == "dict":
        return {_decode(key): _decode(item) for key, item in value["items"]}
    if kind == "tensor":
        return value["value"].to(value["device"])
    if kind == "generator":
        generator = torch.Generator(value["device"])
        generator.set_state(value["state"])
        return generator
    if kind in _RECORDS:
        return _RECORDS[kind](**_decode(value["fields"]))
    return _CONTAINERS[kind](_decode(value["items"]))
