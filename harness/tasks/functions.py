"""The functions that code problems ask for: nine families, a value table each, split by a hash of the table.

A function is tested on inputs outside the range in which examples are shown, so its table lists exactly those values:
two functions that no test can tell apart are one problem and fall into one split.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator

import numpy as np

from harness.tasks.base import Split, hash_split

__all__ = ["FAMILIES", "HIDDEN", "SHOWN", "Function", "functions"]

SHOWN = tuple(range(1, 10))  # inputs that examples are drawn from
HIDDEN = (-3, -2, -1, 0, 10, 11, 12, 13)  # inputs that decide
LARGEST = 199  # of the shown values, which keeps prompts short

X = np.array(SHOWN + HIDDEN, dtype=np.int64)  # all inputs, in the order of the value arrays below
_OFFSETS = range(-9, 10)


@dataclasses.dataclass(frozen=True)
class Function:
    """f(x) as an expression that ends with an offset: `core` and `offset` joined are the whole text.

    `offset` is None for families without one. In a branch, whose text ends with its left-hand part, it belongs to that
    part alone. So at the smallest shown input, always on the left, f is worth the core's part there plus the offset.
    """

    family: str
    core: str
    offset: int | None
    shown: tuple[int, ...]  # values at SHOWN
    hidden: tuple[int, ...]  # values at HIDDEN
    kink: int | None = None  # largest input of the left-hand part, for functions with two parts
    period: int | None = None

    @property
    def text(self) -> str:
        """The shortest spelling: `3*x+1`."""
        return self.core if not self.offset else f"{self.core}{self.offset:+d}"

    @property
    def split(self) -> Split:
        """By the hash of the value table."""
        return hash_split("table:" + ",".join(map(str, self.hidden)))

    def shows_enough(self, inputs: tuple[int, ...]) -> bool:
        """Whether examples at these inputs show every part of the function twice."""
        if self.kink is not None:
            left = sum(x <= self.kink for x in inputs)
            return 2 <= left <= len(inputs) - 2
        if self.period is not None:
            return len({x % self.period for x in inputs}) == min(self.period, len(inputs))
        return True


def _make(
    family: str,
    core: str,
    offset: int | None,
    core_values: np.ndarray,
    *,
    kink: int | None = None,
    period: int | None = None,
) -> Function | None:
    """The function whose core has these values at all inputs; None if a shown value would be too long."""
    values = core_values + (offset or 0)
    if np.abs(values[: len(SHOWN)]).max() > LARGEST:
        return None
    table = tuple(values.tolist())
    return Function(family, core, offset, table[: len(SHOWN)], table[len(SHOWN) :], kink, period)


def _linear() -> Iterator[Function | None]:
    for a in range(2, 10):
        for c in _OFFSETS:
            yield _make("linear", f"{a}*x", c, a * X)


def _square() -> Iterator[Function | None]:
    for a in range(-4, 5):
        for c in _OFFSETS:
            yield _make("square", f"x*(x{a:+d})" if a else "x*x", c, X * (X + a))


def _modulo() -> Iterator[Function | None]:
    for a in (2, 3, 4):
        for b in range(2, 7):
            for c in _OFFSETS:
                yield _make("modulo", f"x%{a}*{b}", c, X % a * b, period=a)


def _floor() -> Iterator[Function | None]:
    for a in (2, 3, 4):
        for b in range(2, 8):
            for c in _OFFSETS:
                yield _make("floor", f"x//{a}*{b}", c, X // a * b)


def _absolute() -> Iterator[Function | None]:
    for t in range(3, 8):
        for b in range(2, 6):
            for c in _OFFSETS:
                yield _make("absolute", f"abs(x-{t})*{b}", c, np.abs(X - t) * b, kink=t)


def _clip() -> Iterator[Function | None]:
    for name, clip in (("max", np.maximum), ("min", np.minimum)):
        for t in range(3, 8):
            for b in range(2, 5):
                for c in _OFFSETS:
                    yield _make("clip", f"{name}(x,{t})*{b}", c, clip(X, t) * b, kink=t)


def _step() -> Iterator[Function | None]:
    for t in range(3, 7):
        for a in _OFFSETS:
            for b in _OFFSETS:
                if a != b:
                    yield _make("step", f"{a} if x>{t} else {b}", None, np.where(t < X, a, b), kink=t)


def _parity() -> Iterator[Function | None]:
    for a in _OFFSETS:
        for b in _OFFSETS:
            if a != b:
                yield _make("parity", f"{a} if x%2 else {b}", None, np.where(X % 2 == 1, a, b), period=2)


def _branch() -> Iterator[Function | None]:
    """Two slopes. Only the right-hand part has no offset, so c is taken off it before _make adds it everywhere."""
    for t in range(3, 7):
        for a in range(2, 7):
            for c in _OFFSETS:
                if c:
                    yield _make("branch", f"{a}*x if x>{t} else x", c, np.where(t < X, a * X - c, X), kink=t)


FAMILIES: dict[str, Callable[[], Iterator[Function | None]]] = {
    "linear": _linear, "square": _square, "modulo": _modulo, "floor": _floor, "absolute": _absolute, "clip": _clip,
    "step": _step, "parity": _parity, "branch": _branch,
}  # fmt: skip


@functools.cache
def functions() -> tuple[Function, ...]:
    """Every function of every family, family by family."""
    return tuple(found for make in FAMILIES.values() for found in make() if found is not None)
