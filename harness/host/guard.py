"""What stands between pluggy and a plugin: every implementation is blamed for what it raises and checked."""

from __future__ import annotations

import dataclasses
import functools
import traceback
from collections.abc import Callable, Generator
from typing import Any

from harness.errors import HarnessError, PluginError, UsageError
from harness.host.contracts import CHECKS, NONE_ALLOWED, check_extras
from harness.host.hidden import FIRST
from harness.host.lint import implementations
from harness.host.markers import MARK, hookimpl
from harness.host.shapes import Breach, describe

__all__ = ["Call", "Guarded"]


class Blamed(PluginError):  # noqa: N818 - a word that reads well where it is raised
    """Names the plugin and the hook at fault already; it passes through whatever lies above."""


@dataclasses.dataclass
class Call:
    """A hook that is being called: its arguments, and who returned what, top first."""

    hook: str
    arguments: dict[str, Any]
    results: list[tuple[str, Any]] = dataclasses.field(default_factory=list)
    extras: dict[str, Any] = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        batch = self.arguments.get("batch")
        self.extras = {} if batch is None else dict(batch.extras)


class Guarded:
    """What is registered with pluggy in place of a plugin: one guarded function per hook that it implements."""

    def __init__(
        self, label: str, plugin: Any, current: Callable[[], Call], called: set[tuple[str, str]], *, trusted: bool
    ) -> None:
        for hook, kind in implementations(type(plugin)).items():
            make = _wrapper if kind == "wrapper" else _plain
            guarded = make(_Place(label, hook, trusted, current, called), getattr(plugin, hook))
            setattr(self, hook, guarded)


@dataclasses.dataclass(frozen=True)
class _Place:
    """Which implementation of which plugin; exceptions of a trusted one (the defaults) are the harness's own."""

    label: str
    hook: str
    trusted: bool
    current: Callable[[], Call]
    called: set[tuple[str, str]]

    def __str__(self) -> str:
        return f"plugin {self.label!r}, hook {self.hook}"

    def blame(self, error: Exception) -> None:
        """Raise PluginError for an exception that the implementation let through; return for one that may pass."""
        own = isinstance(error, PluginError | UsageError) and not isinstance(error, Blamed)
        if self.trusted or (isinstance(error, HarnessError) and not own):
            return
        if own:
            raise Blamed(f"{self}: {error}") from error
        frame = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(str(error).split())
        raise Blamed(f"{self}: {type(error).__name__}: {text} ({frame.filename}:{frame.lineno})") from error

    def check(self, value: Any) -> Any:
        """The value as the hook's contract wants it. Raises PluginError naming what was expected and what came."""
        call = self.current()
        if value is None and self.hook not in NONE_ALLOWED:
            raise Blamed(f"{self}: returned None where a value is due; is a `return` missing?")
        try:
            checked = CHECKS[self.hook](value, call.arguments)
            if "batch" in call.arguments:
                call.extras = check_extras(call.arguments["batch"], call.extras)
        except Breach as breach:
            raise Blamed(f"{self}: {breach}") from None
        call.results.append((self.label, checked))
        return checked

    def check_list(self, values: Any) -> list[Any]:
        """What a wrapper of an `all` hook returns: a list, each item as the contract wants it."""
        if values is None:
            raise Blamed(f"{self}: the wrapper returned None; return the list that `yield` gave, changed or not")
        if not isinstance(values, list):
            raise Blamed(f"{self}: expected the wrapper of an 'all' hook to return a list, got {describe(values)}")
        known = {id(result) for _, result in self.current().results}
        return [item if id(item) in known else self.check(item) for item in values]


def _plain(place: _Place, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def guarded(*arguments: Any) -> Any:
        place.called.add((place.label, place.hook))
        try:
            value = function(*arguments)
        except Exception as error:
            place.blame(error)
            raise
        return place.check(value)

    return _marked(guarded, wrapper=False)


def _wrapper(place: _Place, function: Callable[..., Generator[None, Any, Any]]) -> Callable[..., Any]:
    first = place.hook in FIRST

    @functools.wraps(function)
    def guarded(*arguments: Any) -> Generator[None, Any, Any]:
        place.called.add((place.label, place.hook))
        running = function(*arguments)
        _advance(place, running)
        try:
            below = yield
        except Exception as error:  # noqa: BLE001 - the wrapper decides
            value = _throw(place, running, error)
        else:
            value = _finish(place, running, below)
        if value is None and first and place.hook not in NONE_ALLOWED:
            raise Blamed(f"{place}: the wrapper returned None; return what replaces the value that `yield` gave")
        return place.check(value) if first else place.check_list(value)

    return _marked(guarded, wrapper=True)


def _marked(guarded: Callable[..., Any], *, wrapper: bool) -> Callable[..., Any]:
    vars(guarded).pop(MARK, None)
    return hookimpl(wrapper=wrapper)(guarded)


def _advance(place: _Place, running: Generator[None, Any, Any]) -> None:
    """Run a wrapper up to its yield."""
    try:
        next(running)
    except StopIteration:
        raise Blamed(f"{place}: the wrapper returned before its `yield`") from None
    except Exception as error:
        place.blame(error)
        raise


def _finish(place: _Place, running: Generator[None, Any, Any], below: Any) -> Any:
    """Give a wrapper what lies below, and take what it returns."""
    try:
        running.send(below)
    except StopIteration as stop:
        return stop.value
    except Exception as error:
        place.blame(error)
        raise
    running.close()
    raise Blamed(f"{place}: the wrapper yields more than once")


def _throw(place: _Place, running: Generator[None, Any, Any], error: Exception) -> Any:
    """Let a wrapper see an exception from below; it may recover, or let it through with its own blame."""
    try:
        running.throw(error)
    except StopIteration as stop:
        return stop.value
    except Exception as raised:
        if raised is error:
            raise
        place.blame(raised)
        raise
    running.close()
    raise Blamed(f"{place}: the wrapper yields more than once")
