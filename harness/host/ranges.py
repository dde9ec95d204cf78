"""The range in which a hyper-parameter may be searched for, as `@method(search=...)` and suites declare it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from harness.errors import PluginError, nearest

__all__ = ["Range", "inherited_search", "read_search", "spelled"]

DIGITS = 3  # significant ones: a value found by search is written in a stack, and read by people


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, evenly or evenly in the logarithm; or one of several `choices`."""

    low: float = math.nan
    high: float = math.nan
    log: bool = False
    choices: tuple[Any, ...] = ()

    @classmethod
    def read(cls, value: Any) -> Range:
        """(low, high), (low, high, "log") or a list of choices. Raises ValueError with what is wrong."""
        if isinstance(value, list):
            if len(value) < 2:
                raise ValueError("a list holds two choices or more")
            return cls(choices=tuple(value))
        if not isinstance(value, tuple) or len(value) not in {2, 3} or (len(value) == 3 and value[2] != "log"):
            raise ValueError(f"write (low, high), (low, high, 'log') or a list of choices, not {value!r}")
        low, high = value[:2]
        if any(isinstance(end, bool) or not isinstance(end, int | float) for end in (low, high)):
            raise ValueError(f"the ends of a range are numbers, not {low!r} and {high!r}")
        return cls.between(float(low), float(high), log=len(value) == 3)

    @classmethod
    def between(cls, low: float, high: float, *, log: bool) -> Range:
        """Raises ValueError for ends that span nothing."""
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(f"a range goes from a number to a larger one, not from {low:g} to {high:g}")
        if log and low <= 0:
            raise ValueError(f"a logarithmic range begins above 0, not at {low:g}")
        return cls(low, high, log)

    def holds(self, value: Any) -> bool:
        """Whether a value lies in it."""
        if self.choices:
            return any(value == choice and type(value) is type(choice) for choice in self.choices)
        return isinstance(value, int | float) and not isinstance(value, bool) and self.low <= value <= self.high

    def at(self, place: float, *, whole: bool = False) -> Any:
        """The value at a place in [0, 1), to three significant digits; `whole` for one that is an integer."""
        if self.choices:
            return self.choices[min(int(place * len(self.choices)), len(self.choices) - 1)]
        span = self.high - self.low
        value = self.low * (self.high / self.low) ** place if self.log else self.low + place * span
        if whole:
            return min(max(round(value), math.ceil(self.low)), math.floor(self.high))
        return min(max(float(f"{value:.{DIGITS}g}"), self.low), self.high)

    def __str__(self) -> str:
        """`0.1 to 0.4`, `1e-05 to 0.001 (log)` or `one of 'a', 'b'`."""
        if self.choices:
            return f"one of {', '.join(map(repr, self.choices))}"
        return f"{self.low:.3g} to {self.high:.3g}{' (log)' if self.log else ''}"


def read_search(cls: Any, given: Any) -> dict[str, Range]:
    """The `search` of a method class. Raises PluginError for what no search could use, the published value included.

    A published value that is None or not a number is on no scale: it is tried first all the same.
    """
    where = cls.__name__
    if not isinstance(given, Mapping):
        raise PluginError(f"{where}: search is a dict of parameter and range, not {given!r}")
    defaults = {field.name: field.default for field in fields(cls)}
    found: dict[str, Range] = {}
    for name, value in given.items():
        if name not in defaults:
            raise PluginError(f"{where}: search has no parameter {name!r}.{nearest(str(name), defaults)}")
        try:
            found[name] = Range.read(value)
        except ValueError as error:
            raise PluginError(f"{where}: search of {name!r}: {error}") from None
        default = defaults[name]
        if isinstance(default, int | float) and not found[name].holds(default):
            raise PluginError(f"{where}: search of {name!r}: the published value {default!r} lies outside of it")
    return found


def inherited_search(cls: Any, above: Mapping[str, Range]) -> dict[str, Range]:
    """What a class that says nothing searches: its parent's ranges, save those that its own defaults have left."""
    defaults = {field.name: field.default for field in fields(cls)}
    return {
        name: found
        for name, found in above.items()
        if not isinstance(defaults[name], int | float) or found.holds(defaults[name])
    }


def spelled(value: Any) -> str:
    """A declared range in words; as it stands where it is none, which its class will say when it is made."""
    try:
        return str(Range.read(value))
    except ValueError:
        return repr(value)
