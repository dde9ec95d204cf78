"""What to do about the faults that everyone makes once: a few words for an exception that a plugin let through."""

from __future__ import annotations

import dataclasses
import linecache
import re
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

from harness.batch import Batch, PolicyOutput
from harness.errors import nearest
from harness.hookspecs import HOOKS
from harness.host.info import needs_of

__all__ = ["NEEDED_BY", "hint"]

NEEDED_BY = {
    "entropy": "entropy", "logp_ref": "reference", "reference": "reference", "greedy_reward": "greedy",
    "hidden": "hidden", "prompt_hidden": "hidden", "top_logits": "top_logits",
}  # fmt: skip
_SET_BY = {
    "advantages": "set after estimate_advantages",
    "weights": "set after aggregate",
    "logp_old": "measured in the first update where a batch gives one; read output.logp_old in the hooks of the loss",
    "gathered": "set after the first round is scored",
}


def hint(error: Exception, hook: str, plugin: Any, file: str) -> str:
    """What the author of a plugin, written in `file`, can do about what its hook raised; "" where nothing is known."""
    if isinstance(error, dataclasses.FrozenInstanceError):
        field = re.search(r"'(\w+)'", str(error))
        return f"what hooks receive never changes: make a copy, batch.replace({field[1] if field else 'rewards'}=...)"
    if isinstance(error, TypeError | AttributeError) and "NoneType" in str(error):
        return next((_unset(name, hook, plugin) for name in _empty_fields(error, file)), "")
    if isinstance(error, AttributeError) and error.name and error.obj is not None:
        return _unknown(error.name, error.obj, plugin)
    return ""


def _unset(name: str, hook: str, plugin: Any) -> str:
    """Why a field such as `batch.entropy` is None."""
    field = name.rpartition(".")[2]
    need = NEEDED_BY.get(field)
    if need is None:
        return f"{name} is None: it is {_SET_BY[field]}"
    if need not in needs_of(plugin):
        return f"{name} is None: declare needs={{{need!r}}} in @method"
    early = HOOKS.index(hook) < HOOKS.index("annotate")
    return f"{name} is None" + (f": it is measured before annotate, and {hook} runs earlier" if early else " here")


def _empty_fields(error: Exception, file: str) -> Iterator[str]:
    """The optional fields that the plugin's own lines read and that are None: of the line that failed, then others."""
    for frame, number in reversed(list(_frames(error.__traceback__, file))):
        read = set(frame.f_code.co_names)
        found = [
            f"{name}.{field}"
            for name, value in frame.f_locals.items()
            for field in (*NEEDED_BY, *_SET_BY)
            if field in read and _is_empty(name, value, field)
        ]
        line = linecache.getline(file, number)
        yield from sorted(found, key=lambda name: name not in line)


def _is_empty(name: str, value: Any, field: str) -> bool:
    if not isinstance(value, Batch | PolicyOutput) and name != "state":
        return False
    return field in dir(value) and getattr(value, field) is None


def _frames(trace: TracebackType | None, file: str) -> Iterator[tuple[FrameType, int]]:
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            yield trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next


def _unknown(name: str, owner: Any, plugin: Any) -> str:
    """What may have been meant by an attribute that an object of the harness, or the plugin itself, does not have."""
    ours = type(owner).__module__.partition(".")[0] == "harness"
    known = [other for other in dir(owner) if not other.startswith("_")] if ours or owner is plugin else []
    if name in known:  # a property of its own raised it
        return ""
    meant = nearest(name, known)
    meant = "d" + meant.strip()[1:] if meant.startswith(" Did") else ""
    return meant or (f"set self.{name} in the hook start, or make it a field of the class" if owner is plugin else "")
