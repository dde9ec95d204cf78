"""`@hookimpl`: marks a method of a plugin as the implementation of a hook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

import pluggy

from harness.errors import PluginError

__all__ = ["MARK", "hookimpl"]

Function = TypeVar("Function", bound=Callable[..., Any])

MARK = "harness_impl"  # the attribute that pluggy's marker for the project "harness" sets

_marker = pluggy.HookimplMarker("harness")


@overload
def hookimpl(function: Function) -> Function: ...
@overload
def hookimpl(*, wrapper: bool = False) -> Callable[[Function], Function]: ...
def hookimpl(function: Any = None, *, wrapper: bool = False, **refused: Any) -> Any:
    """Mark a plain implementation (`@hookimpl`) or a wrapper (`@hookimpl(wrapper=True)`).

    A wrapper is a generator with one `yield`, which gives what lies below; what it returns replaces that. Raises
    PluginError for pluggy's other options: the order of plugins is the order of the stack.
    """

    def mark(target: Function) -> Function:
        if refused:
            raise PluginError(
                f"{target.__qualname__}: hookimpl takes only wrapper=True, not {', '.join(sorted(refused))}; "
                "the order of the stack decides the order of calls, and the method's name decides the hook"
            )
        return _marker(target, wrapper=wrapper)

    return mark if function is None else mark(function)
