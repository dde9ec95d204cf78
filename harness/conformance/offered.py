"""Modules with mappings of reference vectors, which distributions offer by the entry-point group `harness.vectors`.

An entry point names a package, all of whose modules are imported, or a module. One that fails does not stop the others;
distributions whose plugins are left out are not imported.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from harness.host.autoload import FIRST_PARTY, Autoload, normal
from harness.host.discovery import points

__all__ = ["GROUP", "broken"]

GROUP = "harness.vectors"


@cache
def broken() -> dict[str, str]:
    """Import what distributions offer: module -> why it cannot be; cases of its methods are not mapped by it."""
    found: dict[str, str] = {}
    # Ours come first, so that nobody else's take their slugs.
    autoload = Autoload.read()
    offered = sorted(
        (normal(owner) != FIRST_PARTY, owner, point.name, point.value)
        for point, owner, _ in points(GROUP)
        if autoload.refusal(owner) is None
    )
    for name in dict.fromkeys(value.partition(":")[0].strip() for *_, value in offered):
        module = _imported(name, found)
        for inner in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{name}."):
            _imported(inner.name, found)
    return found


def _imported(name: str, faults: dict[str, str]) -> ModuleType | None:
    """The module; None where it fails, which is noted and leaves the others usable."""
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it does at import
        faults[name] = f"{type(error).__name__}: {error}"
        return None
