"""Which distributions may offer plugins: first-party ones always, others unless the environment says otherwise.

HARNESS_PLUGIN_AUTOLOAD=0 leaves out every third-party distribution; HARNESS_PLUGINS=a,b lets in the named ones only,
with or without the first. `harness --no-plugins` leaves out all. Files given with --plugin are always read.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterable, Mapping

from harness.errors import UsageError, nearest

__all__ = ["AUTOLOAD", "FIRST_PARTY", "PLUGINS", "Autoload", "normal"]

FIRST_PARTY = "policy-harness"
AUTOLOAD, PLUGINS = "HARNESS_PLUGIN_AUTOLOAD", "HARNESS_PLUGINS"

_OFF, _ON = frozenset({"0", "false", "no", "off"}), frozenset({"", "1", "true", "yes", "on"})


@dataclasses.dataclass(frozen=True)
class Autoload:
    """What the environment says. `named`: the distributions that HARNESS_PLUGINS lists, None where it is not set."""

    enabled: bool = True
    named: tuple[str, ...] | None = None

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None) -> Autoload:
        """From environment variables, the process's own by default. Raises UsageError for a value that is neither."""
        given = os.environ if environment is None else environment
        switch = given.get(AUTOLOAD, "").strip().lower()
        if switch not in _OFF | _ON:
            raise UsageError(f"{AUTOLOAD}={given[AUTOLOAD]}: write 0 (no third-party plugins) or 1")
        names = given.get(PLUGINS)
        listed = None if names is None else tuple(name.strip() for name in names.split(",") if name.strip())
        return cls(switch in _ON, listed)

    def refusal(self, distribution: str) -> str | None:
        """Why the plugins of a distribution are left out, and how to let them in; None if they are not."""
        if normal(distribution) == FIRST_PARTY:
            return None
        if self.named is not None:
            if normal(distribution) in map(normal, self.named):
                return None
            return f"{PLUGINS} does not list it; let it in with {PLUGINS}={','.join((*self.named, distribution))}"
        if self.enabled:
            return None
        return (
            f"third-party plugins are off ({AUTOLOAD}=0 or --no-plugins); switch them on again, or let in this one "
            f"with {PLUGINS}={distribution}"
        )

    def check(self, distributions: Iterable[str]) -> None:
        """Raise UsageError if HARNESS_PLUGINS lists what none of the installed distributions is called."""
        known = {normal(name) for name in distributions}
        unknown = next((name for name in self.named or () if normal(name) not in known | {FIRST_PARTY}), None)
        if unknown is not None:
            raise UsageError(f"{PLUGINS} lists {unknown!r}, which offers no plugins.{nearest(normal(unknown), known)}")


def normal(distribution: str) -> str:
    """A distribution's name as it is compared: Zoo_One and zoo-one are the same."""
    return re.sub(r"[-_.]+", "-", distribution).lower()
