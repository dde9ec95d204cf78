"""Suites: reading one, listing its trials, running them in worker processes, resuming."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_EXPORTS = {"RunDirectory": "store", "Suite": "schema", "execute": "run", "plan": "run", "trials": "expand"}

if TYPE_CHECKING:
    from harness.suites.expand import trials
    from harness.suites.run import execute, plan
    from harness.suites.schema import Suite
    from harness.suites.store import RunDirectory

__all__ = ["RunDirectory", "Suite", "execute", "plan", "trials"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: the command line stays light."""
    if name not in _EXPORTS:
        raise AttributeError(f"module 'harness.suites' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"harness.suites.{_EXPORTS[name]}"), name)
    globals()[name] = value
    return value
