"""What pydantic found wrong with a suite, as one line: where, what, and the nearest known name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from harness.errors import UsageError, nearest
from harness.suites.reader import Layer

__all__ = ["known_keys", "one_line"]


def one_line(error: ValidationError, layer: Layer, model: type[BaseModel]) -> UsageError:
    """The first fault, in the order of the file, as a UsageError; further ones are counted."""
    faults = error.errors(include_url=False)
    first = faults[0]
    path = tuple(part for part in first["loc"] if isinstance(part, int) or not part.startswith("function-"))
    name = ".".join(str(part) for part in path)
    where = layer.where(path)
    more = f" ({len(faults) - 1} more)" if len(faults) > 1 else ""
    return UsageError(f"{where + ': ' if where else ''}{_sentence(first, name, model)}{more}")


def _sentence(fault: Any, name: str, model: type[BaseModel]) -> str:
    kind, context = fault["type"], fault.get("ctx", {})
    if kind == "extra_forbidden":
        return f"unknown key {name!r}.{_nearest_key(name, model)}"
    if kind == "missing":
        return f"{name} is missing"
    if kind == "value_error":
        return f"{name}: {context.get('error', fault['msg'])}" if name else str(context.get("error", fault["msg"]))
    if kind == "literal_error":
        return f"{name}: {fault['input']!r} is not {context['expected'].replace(chr(39), '')}"
    message = fault["msg"][:1].lower() + fault["msg"][1:]
    return f"{name}: {message}, not {fault['input']!r}"


def _nearest_key(name: str, model: type[BaseModel]) -> str:
    """A key with a like name beside it, else one with the same last part elsewhere, else any like it."""
    known = dict(known_keys(model))
    stem, _, last = name.rpartition(".")
    beside = [key for key in known if key.rpartition(".")[0] == stem]
    ends = {key.rpartition(".")[2]: key for key in beside}
    close = difflib.get_close_matches(last, ends, n=1, cutoff=0.6)
    if close:
        return f" Did you mean {ends[close[0]]!r}?"
    elsewhere = [key for key in known if key.rpartition(".")[2] == last]
    if elsewhere:
        return f" Did you mean {elsewhere[0]!r}?"
    return nearest(name, beside or known)


def known_keys(model: type[BaseModel], stem: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names of every setting of a suite; list items carry no number."""
    for key, field in model.model_fields.items():
        yield stem + key, field
        for kind in (field.annotation, *get_args(field.annotation)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from known_keys(kind, f"{stem}{key}.")
