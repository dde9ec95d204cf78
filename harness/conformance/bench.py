"""What the checks of one method share: its rehearsal, its outcome on the probe, and the rehearsals of its bases."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from harness.conformance.journal import Journal
from harness.conformance.outcome import Outcome
from harness.conformance.rehearsal import Rehearsal
from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.conformance.subject import Subject
    from harness.host import Catalogue

__all__ = ["Bench"]

_KEPT = 24  # rehearsals of bases that a process keeps; a distribution's methods share few


def _watched(hooks: object) -> Journal:
    return Journal(hooks, arguments=True)


@functools.lru_cache(maxsize=_KEPT)
def _base(stack: str, catalogue: _ById, seed: int) -> tuple[Rehearsal, Outcome]:
    rehearsal = Rehearsal(stack, catalogue.value, seed=seed, journal=Journal)
    return rehearsal, rehearsal.outcome()


class _ById:
    """A catalogue as a key: mappings have no hash."""

    def __init__(self, value: Catalogue) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.value is self.value


class Bench:
    """A subject under check."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.seed = subject.seed
        self.teller: str | None = None  # the check that has told why none of the others can run

    @functools.cached_property
    def rehearsal(self) -> Rehearsal:
        """The stack after two steps, every hook call watched."""
        return Rehearsal(self.subject.stack, self.subject.catalogue, seed=self.seed, journal=_watched)

    @functools.cached_property
    def outcome(self) -> Outcome:
        """What it makes of the probe as it is."""
        return self.rehearsal.outcome()

    @functools.cached_property
    def unbuilt(self) -> HarnessError | None:
        """Why the stack cannot even be built, if it cannot."""
        try:
            assert self.subject.seat is not None
        except HarnessError as fault:
            return fault
        return None

    @functools.cached_property
    def unrun(self) -> Exception | None:
        """What its steps raise before anything can be compared, if they do."""
        try:
            assert self.outcome is not None
        except Exception as fault:  # noqa: BLE001 - a plugin may raise anything
            return fault
        return None

    def other(self, stack: str) -> tuple[Rehearsal, Outcome]:
        """Laboratory and outcome of another stack, such as the base."""
        return _base(stack, _ById(self.subject.catalogue), self.seed)

    def fresh(self, **changes: object) -> Rehearsal:
        """Another rehearsal of the stack, with other settings."""
        return Rehearsal(self.subject.stack, self.subject.catalogue, **{"seed": self.seed, **changes})  # type: ignore[arg-type]
