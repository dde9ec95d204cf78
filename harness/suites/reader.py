"""From a suite's file to plain data: `extends:`, `--set`, and for every key the place that it came from."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness import yaml12
from harness.errors import UsageError
from harness.resources import suite_path

__all__ = ["Layer", "apply_set", "merge", "read"]

_REPLACED_WHOLE = {"budget"}  # exactly one currency: a suite that extends another names its own

Key = tuple[str | int, ...]


class Layer:
    """Suite data and where each key of it was written: `origins[path]` is "file:line" or "--set key"."""

    def __init__(self, data: dict[str, Any], origins: dict[Key, str]) -> None:
        self.data = data
        self.origins = origins

    def where(self, path: Key) -> str:
        """The place of `path`, or of the closest key above it; options within it first."""
        said = [place for key, place in self.origins.items() if key[: len(path)] == path and place.startswith("--")]
        if path and said:  # a section is at fault as a whole: what the command line put into it comes first
            return ", ".join(dict.fromkeys(said))
        for length in range(len(path), 0, -1):
            if path[:length] in self.origins:
                return self.origins[path[:length]]
            below = (place for key, place in self.origins.items() if key[:length] == path[:length])
            if length == len(path) and (place := next(below, None)):
                return place
        return self.origins.get((), "")


def read(name: str | Path, sets: Sequence[str] = (), overrides: Mapping[str, Any] | None = None) -> Layer:
    """The suite `name` (a path or a bundled name) under its `extends`, then `overrides`, then `sets` ("a.b=value")."""
    layer = _read_file(suite_path(name), ())
    for key, value in (overrides or {}).items():
        layer = merge(layer, Layer({key: value}, {(key,): f"--{key}"}))
    for text in sets:
        apply_set(layer, text)
    return layer


def _read_file(file: Path, seen: tuple[Path, ...]) -> Layer:
    """The file and, below it, what it extends."""
    if file.resolve() in seen:
        raise UsageError(f"{file}: extends itself by way of {', '.join(str(other) for other in seen[1:]) or 'itself'}")
    data, lines = yaml12.load(file)
    if not isinstance(data, dict):
        raise UsageError(f"{file}: a suite is a mapping of settings, this is {_kind(data)}")
    origins: dict[Key, str] = {path: f"{file}:{line}" for path, line in lines.items()}
    origins[()] = str(file)
    parent = data.pop("extends", None)
    layer = Layer(data, origins)
    if parent is None:
        return layer
    if not isinstance(parent, str):
        raise UsageError(f"{layer.where(('extends',))}: extends takes the name or path of one suite")
    return merge(_read_file(suite_path(parent, relative_to=file.parent), (*seen, file.resolve())), layer)


def merge(below: Layer, above: Layer) -> Layer:
    """`above` over `below`: mappings are merged key by key, everything else (and `budget`) is replaced."""
    data = copy.deepcopy(below.data)
    origins = dict(below.origins)
    _merge_into(data, above.data, (), origins)
    origins.update(above.origins)
    return Layer(data, origins)


def _merge_into(target: dict[str, Any], source: Mapping[str, Any], path: Key, origins: dict[Key, str]) -> None:
    for key, value in source.items():
        here = (*path, key)
        if isinstance(value, dict) and isinstance(target.get(key), dict) and key not in _REPLACED_WHOLE:
            _merge_into(target[key], value, here, origins)
            continue
        for other in [other for other in origins if other[: len(here)] == here]:
            del origins[other]
        target[key] = copy.deepcopy(value)


def apply_set(layer: Layer, text: str) -> None:
    """Set one key in place from "optimizer.lr=3e-5"; the value is read as YAML, list items are named by number."""
    name, equals, value_text = text.partition("=")
    name = name.strip()
    if not equals or not name:
        raise UsageError(f"--set {text}: write it as key=value, for example --set optimizer.lr=3e-5")
    value, _ = yaml12.parse(value_text, f"--set {text}")
    path = name.split(".")
    if path[0] in _REPLACED_WHOLE and len(path) > 1:
        layer.data[path[0]] = {}
        for other in [other for other in layer.origins if other[:1] == (path[0],)]:
            del layer.origins[other]
    target: Any = layer.data
    for depth, part in enumerate(path[:-1]):
        target = _child(target, part, ".".join(path[: depth + 1]), text)
    last = path[-1]
    _child(target, last, name, text)  # refuses what has no such place
    target[int(last) if isinstance(target, list) else last] = value
    key: Key = tuple(int(part) if part.isdigit() else part for part in path)
    for other in [other for other in layer.origins if other[: len(key)] == key]:
        del layer.origins[other]
    layer.origins[key] = f"--set {name}"


def _child(target: Any, part: str, name: str, text: str) -> Any:
    """The mapping or list `part` of `target`, made where a mapping lacks it."""
    if isinstance(target, dict):
        found = target.setdefault(part, {})
        target[part] = {} if found is None else found
        return target[part]
    if isinstance(target, list):
        if not part.isdigit() or int(part) >= len(target):
            raise UsageError(f"--set {text}: {name} must end in a number below {len(target)}")
        return target[int(part)]
    raise UsageError(f"--set {text}: {name.rpartition('.')[0]} is {_kind(target)}, it has no keys")


def _kind(data: Any) -> str:
    return {"list": "a list", "str": "a text", "NoneType": "empty", "int": "a number", "float": "a number"}.get(
        type(data).__name__, f"a {type(data).__name__}"
    )
