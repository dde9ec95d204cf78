"""Whose an implementation is: what it raises is blamed on it, and what it returns is held to the hook's contract."""

from __future__ import annotations

import dataclasses
import inspect
import traceback
from collections.abc import Callable
from typing import Any

from torch import Tensor

from harness.errors import Blamed, HarnessError, PluginError, UsageError, blame, blamed
from harness.host.batch_contracts import check_extras
from harness.host.contracts import CHECKS, NONE_ALLOWED
from harness.host.hints import hint
from harness.host.shapes import Breach, describe

__all__ = ["Blamed", "Call", "Owner", "Place", "file_of"]


@dataclasses.dataclass
class Call:
    """A hook that is being called: its arguments, and who returned what, top first.

    plain_shape: that of a tensor which was returned first, below all wrappers, before its contract reshaped it.
    """

    hook: str
    arguments: dict[str, Any]
    results: list[tuple[str, Any]] = dataclasses.field(default_factory=list)
    plain_shape: tuple[int, ...] = ()
    extras: dict[str, Any] = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        batch = self.arguments.get("batch")
        self.extras = {} if batch is None else dict(batch.extras)


@dataclasses.dataclass(frozen=True)
class Owner:
    """Whose implementations are called: label in the stack, distribution and version, and what to give `harness check`.

    Exceptions of a trusted one (the defaults) are the harness's own.
    """

    label: str
    origin: str
    name: str
    trusted: bool = False

    def __str__(self) -> str:
        return f"plugin {self.label!r} ({self.origin})"


@dataclasses.dataclass(frozen=True)
class Place:
    """Which implementation of which plugin, and the file that it is written in."""

    owner: Owner
    hook: str
    file: str
    plugin: Any
    current: Callable[[], Call]
    called: set[tuple[str, str]]

    def __str__(self) -> str:
        return f"{self.owner}, hook {self.hook}"

    def enter(self) -> None:
        """Remember that the implementation was called."""
        self.called.add((self.owner.label, self.hook))

    def blame(self, error: Exception) -> None:
        """Say whose an exception is that the implementation let through; the caller raises it again.

        An error of the harness's kinds that the plugin raised itself becomes a PluginError here; any other gets a note,
        so that its type survives. What lies below has been blamed already, and is not this implementation's.
        """
        if self.owner.trusted or blamed(error) or isinstance(error, Blamed):
            return
        if isinstance(error, PluginError | UsageError):
            raise Blamed(f"{self}: {error}") from error
        if not isinstance(error, HarnessError):
            blame(error, f"{self}, at {self._line(error)}", hint(error, self.hook, self.plugin, self.file))

    def exits(self, error: SystemExit) -> Blamed:
        """The error in place of one that would end the process: a hook may fail its trial, not the harness."""
        said = "" if error.code is None else f"({error.code})"
        return Blamed(f"{self}, at {self._line(error)}: SystemExit{said}; raise an exception that says what is wrong")

    def _line(self, error: BaseException) -> str:
        """The last line of the plugin's own file that the exception came through, else the line that raised it."""
        frames = traceback.extract_tb(error.__traceback__)
        frame = next((frame for frame in reversed(frames) if frame.filename == self.file), frames[-1])
        return f"{frame.filename}:{frame.lineno}"

    def fault(self, text: str) -> Blamed:
        """The error that the implementation broke its contract, with what to do next."""
        return Blamed(f"{self}: {text}; mend it, `harness check {self.owner.name}` tries it on small batches")

    def check(self, value: Any) -> Any:
        """The value as the hook's contract wants it. Raises PluginError naming what was expected and what came."""
        call = self.current()
        if value is None and self.hook not in NONE_ALLOWED:
            raise self.fault("returned None where a value is due; is a `return` missing?")
        try:
            checked = CHECKS[self.hook](value, call.arguments)
            if "batch" in call.arguments:
                call.extras = check_extras(call.arguments["batch"], call.extras)
        except Breach as breach:
            raise self.fault(str(breach)) from None
        if isinstance(value, Tensor) and not call.results:
            call.plain_shape = tuple(value.shape)
        call.results.append((self.owner.label, checked))
        return checked

    def check_list(self, values: Any) -> list[Any]:
        """What a wrapper of an `all` hook returns: a list, each item as the contract wants it."""
        if values is None:
            raise self.fault("the wrapper returned None; return the list that `yield` gave, changed or not")
        if not isinstance(values, list):
            raise self.fault(f"expected the wrapper of an 'all' hook to return a list, got {describe(values)}")
        known = {id(result) for _, result in self.current().results}
        return [item if id(item) in known else self.check(item) for item in values]


def file_of(function: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code.co_filename if code else ""
