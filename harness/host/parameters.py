"""Checking the parameters of a plugin against its typed fields, and leaving defaults out."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

from harness.errors import UsageError, nearest
from harness.host.parsing import spell_value

__all__ = ["accept", "without_defaults"]


def accept(label: str, cls: type, params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as the fields' types want them (an int becomes a float). Raises UsageError with what is wrong."""
    fields = {field.name: field for field in dataclasses.fields(cls)}
    hints = _hints(cls)
    accepted = {}
    for name, value in params.items():
        if name not in fields:
            if not fields:
                raise UsageError(f"method {label!r} has no parameter {name!r}; it takes none")
            raise UsageError(f"method {label!r} has no parameter {name!r}.{nearest(name, fields)}")
        hint = hints.get(name, Any)
        fits, converted = _convert(value, hint)
        if not fits:
            raise UsageError(
                f"{label}({name}={spell_value(value)}): expected {_spell_type(hint)} "
                f"(default {spell_value(fields[name].default)}), got {type(value).__name__}"
            )
        accepted[name] = converted
    return accepted


def without_defaults(cls: type, params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that differ from the fields' defaults, sorted by name."""
    defaults = {field.name: field.default for field in dataclasses.fields(cls)}
    spelled = {name: spell_value(value) for name, value in defaults.items()}
    return {name: params[name] for name in sorted(params) if spell_value(params[name]) != spelled[name]}


def _hints(cls: type) -> dict[str, Any]:
    """The types of the fields. A type that only a type checker imports is taken to be that of the field's default."""
    try:
        return typing.get_type_hints(cls)
    except (NameError, TypeError, AttributeError):
        return {field.name: _hint(cls, field) for field in dataclasses.fields(cls)}


def _hint(cls: type, field: dataclasses.Field[Any]) -> Any:
    owner = next(parent for parent in cls.__mro__ if field.name in inspect.get_annotations(parent))
    lone = type("_", (), {"__annotations__": {field.name: field.type}, "__module__": owner.__module__})
    try:
        return typing.get_type_hints(lone)[field.name]
    except (NameError, TypeError, AttributeError):
        return Any if field.default is None else type(field.default)


def _convert(value: Any, hint: Any) -> tuple[bool, Any]:
    """(whether the value fits the type, the value as that type)."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return next((found for item in arguments if (found := _convert(value, item))[0]), (False, value))
    if origin is Literal:
        return any(value == item and type(value) is type(item) for item in arguments), value
    if hint is None or hint is type(None):
        return value is None, value
    if hint is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        return fits, float(value) if fits else value
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool), value
    if hint in (bool, str):
        return isinstance(value, hint), value
    if hint is tuple or origin is tuple:
        return _convert_tuple(value, arguments)
    if hint in (dict, list) or origin in (dict, list):
        return isinstance(value, origin or hint), value
    return True, value  # a type that literals cannot be checked against


def _convert_tuple(value: Any, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    if not isinstance(value, tuple | list):
        return False, value
    if not arguments:
        return True, tuple(value)
    items = [arguments[0]] * len(value) if arguments[-1] is Ellipsis else list(arguments)
    if len(items) != len(value):
        return False, value
    pairs = [_convert(item, hint) for item, hint in zip(value, items, strict=True)]
    return all(fits for fits, _ in pairs), tuple(item for _, item in pairs)


def _spell_type(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(repr, get_args(hint)))
    return getattr(hint, "__name__", None) if isinstance(hint, type) and not get_args(hint) else str(hint)  # type: ignore[return-value]
