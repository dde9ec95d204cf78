"""The process's own random generators: how they stand, and whose hook moves them."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import torch

from harness.errors import CheckFailed
from harness.hookspecs import HOOKS
from harness.host import HookCaller

__all__ = ["moved", "restore", "seed", "states", "watch"]


def states() -> dict[str, Any]:
    """The global generators as they stand now."""
    return {"torch": torch.get_rng_state(), "numpy": np.random.get_state(), "random": random.getstate()}  # noqa: NPY002


def restore(before: dict[str, Any]) -> None:
    """Put the global generators back."""
    torch.set_rng_state(before["torch"])
    np.random.set_state(before["numpy"])  # noqa: NPY002
    random.setstate(before["random"])


def seed(number: int) -> None:
    """Seed every global generator."""
    torch.manual_seed(number)
    np.random.seed(number)  # noqa: NPY002 - the global one is the point
    random.seed(number)


def moved(before: dict[str, Any]) -> str:
    """The names of the generators that do not stand as they did, "" where all do."""
    return " and ".join(name for name, state in states().items() if not _same(state, before[name]))


def watch(hooks: HookCaller) -> None:
    """From here on a plugin's implementation of any hook raises CheckFailed where it moves a global generator.

    The defaults may: what they call, such as the modules of a pass, is not theirs.
    """
    for hook in HOOKS:
        for implementation in getattr(hooks.manager.hook, hook).get_hookimpls():
            if implementation.plugin_name == "defaults":
                continue
            where = f"plugin {implementation.plugin_name!r}, hook {hook}"
            wrap = _wrapper if implementation.wrapper else _plain
            implementation.function = wrap(where, implementation.function)


def _still(where: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function gives or raises. Raises CheckFailed if it moves a global generator on the way."""
    before = states()
    try:
        return function(*arguments)
    finally:
        names = moved(before)
        if names:
            raise CheckFailed(f"{where} moves the global generator of {names}; draw from state.generator")


def _plain(where: str, function: Callable[..., Any]) -> Callable[..., Any]:
    return functools.partial(_still, where, function)


def _wrapper(where: str, function: Callable[..., Generator[None, Any, Any]]) -> Callable[..., Any]:
    def watched(*arguments: Any) -> Generator[None, Any, Any]:
        running = function(*arguments)
        _still(where, next, running)
        try:
            below = yield
        except Exception as error:  # noqa: BLE001 - the wrapper decides
            follow: tuple[Any, ...] = (running.throw, error)
        else:
            follow = (running.send, below)
        try:
            _still(where, *follow)
        except StopIteration as stop:
            return stop.value

    return watched


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True)) if isinstance(a, tuple) else bool(a == b)
