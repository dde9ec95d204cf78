"""policy-harness: which policy optimizer for language models is better, by how much, and how sure one can be.

Everything is imported on first use, so that `import harness` costs nothing and plugins can name what they need.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_EXPORTS = {
    "Batch": "harness.batch",
    "Groups": "harness.groups",
    "HarnessError": "harness.errors",
    "PluginError": "harness.errors",
    "PolicyOutput": "harness.batch",
    "PromptRecord": "harness.batch",
    "Trained": "harness.host.trained",
    "UsageError": "harness.errors",
    "hookimpl": "harness.host.markers",
    "method": "harness.host.plugin",
    "standardize": "harness.groups",
}

if TYPE_CHECKING:
    from harness.batch import Batch, PolicyOutput, PromptRecord
    from harness.errors import HarnessError, PluginError, UsageError
    from harness.groups import Groups, standardize
    from harness.host.markers import hookimpl
    from harness.host.plugin import method
    from harness.host.trained import Trained

__all__ = [
    "Batch", "Groups", "HarnessError", "PluginError", "PolicyOutput", "PromptRecord", "Trained", "UsageError",
    "__version__", "hookimpl", "method", "standardize",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _EXPORTS:
        msg = f"module 'harness' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(importlib.import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value
