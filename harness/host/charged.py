"""Whether a hook can cost anything: what it is charged for is shown only where its code could ask for it."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

__all__ = ["start_may_charge"]

# What `start` may read of its `run` for nothing; `rollout`, policies and all else may be passes.
FREE = frozenset({
    "seed", "pool", "group_size", "generator", "temperature", "max_tokens", "max_rounds", "minibatches",
    "prompts_per_step", "updates_per_batch", "metrics", "progress", "step",
})  # fmt: skip


def start_may_charge(plugin: Any) -> bool:
    """Whether a plugin's `start` does more with its `run` than to read settings. True where its source is not there."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(type(plugin).start)))
    except (OSError, TypeError, SyntaxError):
        return True
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "run"]
    read = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "run"
        and node.attr in FREE
    ]
    return len(used) > len(read)
