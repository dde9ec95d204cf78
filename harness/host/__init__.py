"""The plugin host: find plugins, parse and build a stack, call its hooks, explain it. Imports torch only to call."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "Catalogue": "catalogue",
    "Entry": "entry",
    "HOST_API": "api",
    "HookCaller": "caller",
    "MethodInfo": "info",
    "PluginSpec": "parsing",
    "Seat": "stack",
    "Stack": "stack",
    "Trained": "trained",
    "build_stack": "building",
    "discover": "discovery",
    "hookimpl": "markers",
    "method": "plugin",
    "needs_of": "info",
    "parse_stack": "parsing",
    "split_methods": "parsing",
}

if TYPE_CHECKING:
    from harness.host.api import HOST_API
    from harness.host.building import build_stack
    from harness.host.caller import HookCaller
    from harness.host.catalogue import Catalogue
    from harness.host.discovery import discover
    from harness.host.entry import Entry
    from harness.host.info import MethodInfo, needs_of
    from harness.host.markers import hookimpl
    from harness.host.parsing import PluginSpec, parse_stack, split_methods
    from harness.host.plugin import method
    from harness.host.stack import Seat, Stack
    from harness.host.trained import Trained

__all__ = [
    "HOST_API", "Catalogue", "Entry", "HookCaller", "MethodInfo", "PluginSpec", "Seat", "Stack", "Trained",
    "build_stack", "discover", "hookimpl", "method", "needs_of", "parse_stack", "split_methods",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _EXPORTS:
        raise AttributeError(f"module 'harness.host' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"harness.host.{_EXPORTS[name]}"), name)
    globals()[name] = value
    return value
