"""Small plugins, and stacks made of classes instead of entry points."""

from __future__ import annotations

from typing import Any

from harness import hookimpl, method
from harness.host import Catalogue, HookCaller, Stack, build_stack


def catalogue(*classes: type) -> Catalogue:
    """A catalogue of classes under the slugs that they give themselves."""
    found = Catalogue([])
    for cls in classes:
        found = found.with_class(cls)
    return found


def stack(text: str, *classes: type) -> Stack:
    """The stack of a string over the given classes."""
    return build_stack(text, catalogue(*classes))


def caller(*classes: type, state: Any = None) -> HookCaller:
    """A caller over plugins with default parameters, left to right."""
    return stack("+".join(cls.info.slug for cls in classes), *classes).caller(state)


def plugin(**hooks: Any) -> type:
    """A method class named `probe-me` with the given plain implementations."""
    return method(type("ProbeMe", (), {name: hookimpl(function) for name, function in hooks.items()}))


def wrapper(**hooks: Any) -> type:
    """A method class named `wrap-me` with the given wrappers."""
    return method(type("WrapMe", (), {name: hookimpl(wrapper=True)(function) for name, function in hooks.items()}))
