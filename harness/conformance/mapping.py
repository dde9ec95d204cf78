"""How a reference vector is computed here: one function per method slug of the vectors.

A function decides by method, source and params, never by a case's id, and returns a `Run`; a `Slip` where the numbers
are a public implementation's slip, which is marked and not imitated; or `Unmapped`. Both say why in a sentence.

    @maps("grpo_batch_std")
    def grpo_batch_std(case: Case) -> Run:
        case.require(ddof=1)
        return Run(stack("grpo", beta=0, scale="batch", eps=case.params["eps"]))

A param that the function never looked at, and a value that `require` does not know, make the case unmapped: nothing
passes by ignoring what it asks for.

Distributions offer modules with mappings by entry point (`harness.conformance.offered`); a plugin file may hold some.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from harness.conformance import vectors
from harness.conformance.offered import broken
from harness.conformance.vectors import Run
from harness.host import Catalogue

__all__ = [
    "Case", "Guess", "Outcome", "Run", "Slip", "Unmapped", "broken", "guess", "guesses", "mappers", "maps",
    "outcome", "stack", "watched",
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Slip:
    """The numbers are a slip of the implementation."""

    reason: str


@dataclasses.dataclass(frozen=True)
class Unmapped:
    """No stack computes these numbers."""

    reason: str


Outcome = Run | Slip | Unmapped


class _UnknownValueError(Exception):
    """A param has a value that a mapping does not know."""


class _Watched(dict[str, Any]):
    """Params that remember which of them were looked at."""

    def __init__(self, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.seen: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.seen.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.seen.add(name)
        return super().get(name, default)

    def __iter__(self) -> Iterator[str]:
        self.seen |= set(super().keys())
        return super().__iter__()

    def keys(self) -> Any:
        self.seen |= set(super().keys())
        return super().keys()

    def values(self) -> Any:
        self.seen |= set(super().keys())
        return super().values()

    def items(self) -> Any:
        self.seen |= set(super().keys())
        return super().items()


@dataclasses.dataclass(frozen=True)
class Case(vectors.Case):
    """A case whose params remember who looked at them."""

    def require(self, **allowed: Any) -> None:
        """Each named param, where the case has it, must have the value (or one of a tuple of values)."""
        for name, values in allowed.items():
            choices = values if isinstance(values, tuple) else (values,)
            if name in self.params and self.params[name] not in choices:
                raise _UnknownValueError(f"{name}={self.params[name]!r} has no counterpart here")

    @property
    def given(self) -> frozenset[str]:
        """Names of the inputs that are there."""
        return frozenset(name for name, value in self.inputs.items() if value is not None)


Mapper = Callable[[Case], Outcome]
Guess = tuple[Run, list[str]]
Guesser = Callable[[Case, Catalogue], Guess | None]
_MAPPERS: dict[str, Mapper] = {}
_GUESSERS: dict[str, Guesser] = {}


def maps(*slugs: str) -> Callable[[Mapper], Mapper]:
    """Register a function for the slugs of the reference vectors. Raises ValueError if one is taken."""

    def register(mapper: Mapper) -> Mapper:
        for slug in slugs:
            if slug in _MAPPERS and _MAPPERS[slug].__module__ != mapper.__module__:
                raise ValueError(f"{slug!r} is mapped in {_MAPPERS[slug].__module__} and in {mapper.__module__}")
            _MAPPERS[slug] = mapper
        return mapper

    return register


def guesses(guesser: Guesser) -> Guesser:
    """Register a function that reads the cases no mapping knows by their names: (the run, params left out) or None.

    A case that agrees with a guess has passed. One that does not is not mapped, rather than failed.
    """
    _GUESSERS[f"{guesser.__module__}.{guesser.__qualname__}"] = guesser
    return guesser


def stack(name: str, **params: Any) -> str:
    """A plugin with parameters, spelled: "grpo(eps=0.0001)" for ("grpo", eps=1e-4)."""
    written = ", ".join(f"{key}={value!r}" for key, value in params.items())
    return f"{name}({written})" if written else name


def watched(case: vectors.Case) -> Case:
    """The case with params that remember who looked at them."""
    values = {field.name: getattr(case, field.name) for field in dataclasses.fields(case)}
    return Case(**values | {"params": _Watched(case.params)})


def outcome(case: vectors.Case) -> Outcome | None:
    """What the case's method makes of it; None if no function maps the method."""
    mapper = mappers().get(case.method)
    if mapper is None:
        return None
    seen = watched(case)
    try:
        found = mapper(seen)
    except _UnknownValueError as error:
        return Unmapped(str(error))
    except KeyError as error:
        return Unmapped(f"the mapping of {case.method} needs {error}, which the case does not give")
    looked = seen.params.seen if isinstance(seen.params, _Watched) else set()
    ignored = sorted(set(case.params) - looked)
    if isinstance(found, Run) and ignored:
        return Unmapped(f"the mapping of {case.method} does not know the param {', '.join(ignored)}")
    return found


def guess(case: vectors.Case, catalogue: Catalogue) -> Guess | None:
    """The first guess at a case that no function maps; None if nobody has one."""
    broken()
    found = (guesser(watched(case), catalogue) for guesser in _GUESSERS.values())
    return next((one for one in found if one is not None), None)


def mappers() -> dict[str, Mapper]:
    """All functions, from all modules that can be imported; `broken()` names the others."""
    broken()
    return dict(_MAPPERS)
