"""What stands between pluggy and a plugin: every implementation is blamed for what it raises and checked."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import Any

from torch import Tensor

from harness.host.contracts import NONE_ALLOWED
from harness.host.hidden import FIRST
from harness.host.lint import implementations
from harness.host.markers import MARK, hookimpl
from harness.host.place import Call, Owner, Place, file_of

__all__ = ["Guarded"]


class Guarded:
    """What is registered with pluggy in place of a plugin: one guarded function per hook that it implements.

    So pluggy never looks at the plugin itself: not at its properties, nor at how it compares or hashes.
    """

    def __init__(self, owner: Owner, plugin: Any, current: Callable[[], Call], called: set[tuple[str, str]]) -> None:
        for hook, kind in implementations(type(plugin)).items():
            function = getattr(plugin, hook)
            make = _wrapper if kind == "wrapper" else _plain
            setattr(self, hook, make(Place(owner, hook, file_of(function), plugin, current, called), function))


def _plain(place: Place, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def guarded(*arguments: Any) -> Any:
        place.enter()
        try:
            value = function(*arguments)
        except SystemExit as error:
            raise place.exits(error) from error
        except Exception as error:
            place.blame(error)
            raise
        return place.check(value)

    return _marked(guarded, wrapper=False)


def _wrapper(place: Place, function: Callable[..., Generator[None, Any, Any]]) -> Callable[..., Any]:
    first = place.hook in FIRST

    @functools.wraps(function)
    def guarded(*arguments: Any) -> Generator[None, Any, Any]:
        place.enter()
        running = function(*arguments)
        _advance(place, running)
        try:
            below = yield
        except Exception as error:  # noqa: BLE001 - the wrapper decides
            value = _throw(place, running, error)
        else:
            given = [item for item in (below if isinstance(below, list) else [below]) if isinstance(item, Tensor)]
            before = [item._version for item in given]  # noqa: SLF001 - how often it was written to
            value = _finish(place, running, below)
            if before != [item._version for item in given]:  # noqa: SLF001
                raise place.fault("the wrapper changes in place what `yield` gave; return a new tensor")
        if value is None and first and place.hook not in NONE_ALLOWED:
            raise place.fault("the wrapper returned None; return what replaces the value that `yield` gave")
        return place.check(value) if first else place.check_list(value)

    return _marked(guarded, wrapper=True)


def _marked(guarded: Callable[..., Any], *, wrapper: bool) -> Callable[..., Any]:
    vars(guarded).pop(MARK, None)
    return hookimpl(wrapper=wrapper)(guarded)


def _advance(place: Place, running: Generator[None, Any, Any]) -> None:
    """Run a wrapper up to its yield."""
    try:
        next(running)
    except StopIteration:
        raise place.fault("the wrapper returned before its `yield`") from None
    except SystemExit as error:
        raise place.exits(error) from error
    except Exception as error:
        place.blame(error)
        raise


def _finish(place: Place, running: Generator[None, Any, Any], below: Any) -> Any:
    """Give a wrapper what lies below, and take what it returns."""
    try:
        running.send(below)
    except StopIteration as stop:
        return stop.value
    except SystemExit as error:
        raise place.exits(error) from error
    except Exception as error:
        place.blame(error)
        raise
    running.close()
    raise place.fault("the wrapper yields more than once")


def _throw(place: Place, running: Generator[None, Any, Any], error: Exception) -> Any:
    """Let a wrapper see an exception from below; it may recover, or let it through with its own blame."""
    try:
        running.throw(error)
    except StopIteration as stop:
        return stop.value
    except SystemExit as left:
        raise place.exits(left) from left
    except Exception as raised:
        if raised is error:
            raise
        place.blame(raised)
        raise
    running.close()
    raise place.fault("the wrapper yields more than once")
