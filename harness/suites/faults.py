"""What pydantic found wrong with a suite, a line a fault: where, what, and the nearest known name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from harness.errors import Faults, HarnessError, UsageError, nearest
from harness.suites.reader import Layer

__all__ = ["known_keys", "refusal"]


def refusal(error: ValidationError, layer: Layer, model: type[BaseModel]) -> HarnessError:
    """All faults: a UsageError where there is one, a line for each where there are several."""
    found = error.errors(include_url=False)
    told = [fault for fault in found if not _follows(fault, found)]
    return Faults.of([UsageError(_line(fault, layer, model)) for fault in told])


def _follows(fault: Any, found: Sequence[Any]) -> bool:
    """Whether a list is called too short only because an item of it is at fault, which has a line of its own."""
    place = fault["loc"]
    inside = (other["loc"] for other in found if other is not fault)
    return fault["type"] == "too_short" and any(loc[: len(place)] == place for loc in inside)


def _line(fault: Any, layer: Layer, model: type[BaseModel]) -> str:
    """One fault: its place, and what is wrong there."""
    path = tuple(part for part in fault["loc"] if isinstance(part, int) or not part.startswith("function-"))
    name = ".".join(str(part) for part in path)
    where = layer.where(path)
    named = where == f"--set {name}"  # the place says the key already
    return f"{where + ': ' if where else ''}{_sentence(fault, name, model, named=named)}"


def _sentence(fault: Any, name: str, model: type[BaseModel], *, named: bool) -> str:
    kind, context, given = fault["type"], fault.get("ctx", {}), fault["input"]
    if kind == "extra_forbidden":
        return f"unknown key {name!r}.{_nearest_key(name, model)}"
    if kind == "missing":
        return f"{name} is missing"
    subject, colon = ("", "") if named or not name else (f"{name} ", f"{name}: ")
    if kind == "value_error":
        return f"{colon}{context.get('error', fault['msg'])}"
    if kind == "literal_error":
        return f"{colon}{given!r} is not {context['expected'].replace(chr(39), '')}"
    if kind in _ITEMS:
        return f"{subject}must have {_ITEMS[kind].format(**context)}, not {context['actual_length']}"
    expected = _EXPECTED.get(kind) or _EXPECTED.get(kind.partition("_")[0])
    if expected is None:  # a kind that no setting has today
        return f"{colon}{fault['msg'][:1].lower()}{fault['msg'][1:]}, not {given!r}"
    return f"{subject}must be {expected.format(**context)}, not {given!r}{_within(name, model, expected)}"


def _within(name: str, model: type[BaseModel], expected: str) -> str:
    """Where a section was expected: one setting of it, to show how it is written."""
    inside = next((key for key, _ in known_keys(model) if key.startswith(f"{name}.")), None)
    return f" (such as {inside})" if inside and expected == _EXPECTED["dict"] else ""


# what pydantic calls a fault, in full or up to its first underscore, in the words of a suite file
_EXPECTED = {
    "tuple": "a list", "list": "a list", "float": "a number", "finite": "a finite number", "int": "a whole number",
    "bool": "true or false", "string": "a text", "dict": "a section of settings", "model": "a section of settings",
    "greater_than": "more than {gt:g}", "greater_than_equal": "at least {ge:g}", "less_than": "less than {lt:g}",
    "less_than_equal": "at most {le:g}", "string_pattern_mismatch": "a text that matches {pattern}",
}  # fmt: skip
_ITEMS = {"too_long": "at most {max_length} items", "too_short": "at least {min_length}"}


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
