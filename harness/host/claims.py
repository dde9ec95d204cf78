"""What a method claims about itself to `harness check`: neutral and active parameters, conflicts, exemptions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.errors import PluginError, StackRefused, nearest

if TYPE_CHECKING:
    from harness.host.stack import Seat

__all__ = ["NOTHING", "Claims", "Neutral", "check_conflicts"]

Neutral = Mapping[str, Any] | Sequence[Mapping[str, Any]]


@dataclasses.dataclass(frozen=True)
class Claims:
    """The decorator's arguments, in one shape each."""

    neutral: tuple[dict[str, Any], ...] = ()
    neutral_to: str | tuple[str | None, ...] | None = None
    active: dict[str, Any] = dataclasses.field(default_factory=dict)
    identity: bool = False
    conflicts: tuple[str, ...] = ()
    exempt: dict[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def read(cls, owner: type, given: Mapping[str, Any]) -> Claims:
        """The claims of a class from the arguments of its decorator. Raises PluginError for what is malformed."""
        where = owner.__name__
        neutral = _neutral(where, given["neutral"])
        return cls(
            neutral=neutral,
            neutral_to=_neutral_to(where, given["neutral_to"], len(neutral)),
            active=_active(where, given["active"]),
            identity=bool(given["identity"]),
            conflicts=_conflicts(where, given["conflicts"]),
            exempt=_exempt(where, given["exempt"]),
        )

    @property
    def reductions(self) -> tuple[tuple[dict[str, Any], str | None], ...]:
        """(neutral parameters, the stack that they give); None for the base."""
        targets = self.neutral_to if isinstance(self.neutral_to, tuple) else (self.neutral_to,) * len(self.neutral)
        return tuple(zip(self.neutral, targets, strict=True))

    def check_fields(self, owner: type) -> None:
        """Raise PluginError for a neutral or active parameter that the class does not have."""
        names = {field.name for field in dataclasses.fields(owner)}
        for claim, dicts in (("neutral", self.neutral), ("active", (self.active,))):
            for name in (name for parameters in dicts for name in parameters):
                if name not in names:
                    raise PluginError(f"{owner.__name__}: {claim} has no parameter {name!r}.{nearest(name, names)}")


NOTHING = Claims()


def check_conflicts(seats: Sequence[Seat], text: str) -> None:
    """Raise StackRefused for two plugins of a stack, bases included, one of which names the other as a conflict."""
    slugs = {seat.entry.slug for seat in seats}
    for seat in seats:
        for other in seat.info.claims.conflicts:
            if other in slugs:
                raise StackRefused(f"{seat.entry.slug!r} and {other!r} conflict, as {seat.entry.slug!r} says: {text!r}")


def _neutral(where: str, value: Any) -> tuple[dict[str, Any], ...]:
    several = (value,) if isinstance(value, Mapping) else value
    if (
        isinstance(several, str)
        or not isinstance(several, Sequence)
        or not all(isinstance(x, Mapping) for x in several)
    ):
        raise PluginError(f"{where}: neutral must be a dict of parameters or several of them, not {value!r}")
    return tuple(dict(parameters) for parameters in several)


def _neutral_to(where: str, value: Any, count: int) -> str | tuple[str | None, ...] | None:
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, Sequence) or len(value) != count:
        raise PluginError(
            f"{where}: neutral_to must be a stack, or one for each of {count} neutral dicts, not {value!r}"
        )
    if not all(item is None or isinstance(item, str) for item in value):
        raise PluginError(f"{where}: neutral_to must hold stacks, not {value!r}")
    return tuple(value)


def _active(where: str, value: Any) -> dict[str, Any]:
    if value is not None and not isinstance(value, Mapping):
        raise PluginError(f"{where}: active must be a dict of parameters, not {value!r}")
    return dict(value or {})


def _conflicts(where: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(item, str) for item in value):
        raise PluginError(f"{where}: conflicts must be a tuple of slugs, not {value!r}")
    return tuple(value)


def _exempt(where: str, value: Any) -> dict[str, str]:
    found = {} if value is None else value
    if not isinstance(found, Mapping) or not all(isinstance(why, str) and why.strip() for why in found.values()):
        raise PluginError(f"{where}: exempt must be a dict of check and reason, not {value!r}")
    return dict(found)
