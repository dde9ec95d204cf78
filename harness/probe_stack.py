"""What the probe runs: the stack of a name, a file or a class, started on the batch of plain inputs."""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from harness.batch import Batch
from harness.errors import UsageError
from harness.host import Catalogue, PluginSpec, Stack, build_stack, discover, parse_stack
from harness.host.standin import begin, stand_in
from harness.probe_caller import ProbeCaller
from harness.probe_inputs import plain_batch

__all__ = ["Method", "begun", "knowing"]

Method = str | type | Stack

_KNOWN: contextvars.ContextVar[Catalogue | None] = contextvars.ContextVar("known", default=None)


@contextlib.contextmanager
def knowing(catalogue: Catalogue) -> Iterator[None]:
    """Names inside the block are those of `catalogue`, such as the methods of a file, not only installed ones."""
    token = _KNOWN.set(catalogue)
    try:
        yield
    finally:
        _KNOWN.reset(token)


def _installed() -> Catalogue:
    known = _KNOWN.get()
    return _discovered() if known is None else known


@functools.cache
def _discovered() -> Catalogue:
    return discover()


def _stack(method: Method, params: Mapping[str, Any] | None) -> Stack:
    """A fresh stack, with `params` given to its only plugin. Raises UsageError if there are several."""
    if isinstance(method, Stack) and not params:
        return method.fresh()
    text, catalogue = _named(method)
    if params:
        specs = parse_stack(text)
        if len(specs) != 1:
            raise UsageError(f"params go to one plugin, {text!r} has {len(specs)}; write them into the stack")
        plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()}
        text = str(PluginSpec(specs[0].name, {**specs[0].params, **plain}, specs[0].distribution))
    return build_stack(text, catalogue)


def _named(method: Method) -> tuple[str, Catalogue]:
    """The stack string, and the catalogue that knows its names."""
    if isinstance(method, Stack):
        return method.canonical, _installed()
    if isinstance(method, type):
        if "info" not in vars(method):
            raise UsageError(f"{method.__name__} is not decorated with @method")
        return vars(method)["info"].slug, _installed().with_class(method)
    if not method.endswith(".py"):
        return method, _installed()
    catalogue = discover([method])
    own = [entry for entry in catalogue.values() if entry.from_file]
    if len(own) != 1:
        names = ", ".join(entry.slug for entry in own)
        raise UsageError(f"{method} has several methods ({names}); the probe takes a file with one, or a class")
    return f"{own[0].slug}@{own[0].distribution}", catalogue


def begun(method: Method, params: Mapping[str, Any] | None, **inputs: Any) -> tuple[ProbeCaller, Batch]:
    """The started stack and the batch, grouped as the stack groups."""
    batch = plain_batch(inputs)
    state = stand_in(
        group_size=int(batch.groups.count().max()), prompts=batch.groups.number, max_tokens=batch.max_tokens,
        gathered=batch,
    )  # fmt: skip
    hooks = ProbeCaller(_stack(method, params).seats, state)
    begin(hooks, batch)
    return hooks, batch.replace(group_keys=hooks.group_by(batch=batch))
