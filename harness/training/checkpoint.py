"""Checkpoints: safetensors and JSON, checksummed, written atomically, the two newest kept.

A checkpoint is a directory `step-NNNNNN` with tensors.safetensors, state.json and manifest.json (the sha256 of both).
It is written beside its place, flushed to disk and renamed, so a kill leaves either the whole of it or none.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from harness.distributed.sharding import full, share_of

__all__ = ["KEEP", "clear", "load_newest", "optimizer_state", "remove", "restore_optimizer", "save"]

KEEP = 2
FILES = ("tensors.safetensors", "state.json")
_TENSOR = "__tensor__"


def save(directory: Path, step: int, tree: dict[str, Any]) -> Path:
    """Write a tree of dicts, lists, JSON values and tensors as the checkpoint before step `step`; prune older ones."""
    directory.mkdir(parents=True, exist_ok=True)
    for leftover in directory.glob(".tmp-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    target, work = directory / f"step-{step:06d}", directory / f".tmp-{step:06d}"
    work.mkdir()
    tensors: dict[str, Tensor] = {}
    plain = _flatten(tree, "", tensors)
    save_file(tensors, work / FILES[0])
    (work / FILES[1]).write_text(json.dumps(plain), encoding="utf-8")
    manifest = {name: _digest(work / name) for name in FILES}
    (work / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    for path in (*work.iterdir(), work):
        _flush(path)
    if target.exists():
        shutil.rmtree(target)
    work.rename(target)
    _flush(directory)
    for old in sorted(directory.glob("step-*"))[:-KEEP]:
        shutil.rmtree(old)
    return target


def load_newest(directory: Path) -> tuple[int, dict[str, Any]] | None:
    """(step, tree) of the newest checkpoint that is whole; None where there is none. Broken ones are removed."""
    for path in sorted(directory.glob("step-*"), reverse=True) if directory.is_dir() else ():
        tree = _read(path)
        if tree is not None:
            return int(path.name.removeprefix("step-")), tree
        shutil.rmtree(path, ignore_errors=True)
    return None


def clear(directory: Path) -> None:
    """Forget every checkpoint."""
    shutil.rmtree(directory, ignore_errors=True)


def remove(directory: Path, step: int) -> None:
    """Forget the checkpoint before step `step`."""
    shutil.rmtree(directory / f"step-{step:06d}", ignore_errors=True)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
        if any(_digest(path / name) != manifest[name] for name in FILES):
            return None
        tensors = load_file(path / FILES[0])
        plain = json.loads((path / FILES[1]).read_text(encoding="utf-8"))
        tree: dict[str, Any] = _restore(plain, tensors)
    except (OSError, ValueError, KeyError, SafetensorError):
        return None
    return tree


def _flatten(value: Any, where: str, tensors: dict[str, Tensor]) -> Any:
    """The tree with every tensor moved to `tensors` and named by its place."""
    if isinstance(value, Tensor):
        tensors[where] = value.detach().to("cpu").contiguous().clone()
        return {_TENSOR: where}
    if isinstance(value, dict):
        return {key: _flatten(item, f"{where}/{key}", tensors) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_flatten(item, f"{where}/{place}", tensors) for place, item in enumerate(value)]
    return value


def _restore(value: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, dict):
        if value.keys() == {_TENSOR}:
            return tensors[value[_TENSOR]]
        return {key: _restore(item, tensors) for key, item in value.items()}
    if isinstance(value, list):
        return [_restore(item, tensors) for item in value]
    return value


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def optimizer_state(optimizer: torch.optim.Optimizer) -> list[dict[str, Any]]:
    """The optimizer's tensors and numbers, a dict a parameter in the order of the groups."""
    held = [optimizer.state.get(parameter, {}) for parameter in _parameters(optimizer)]
    return [{name: full(x) if isinstance(x, Tensor) else x for name, x in state.items()} for state in held]


def restore_optimizer(optimizer: torch.optim.Optimizer, state: list[dict[str, Any]]) -> None:
    """Continue from `optimizer_state`."""
    for parameter, held in zip(_parameters(optimizer), state, strict=True):
        if held:
            optimizer.state[parameter] = {name: _placed(x, parameter) for name, x in held.items()}


def _placed(value: Any, parameter: Tensor) -> Any:
    """A number, a count, or a moment as its parameter is kept."""
    if not isinstance(value, Tensor):
        return value
    return share_of(value, parameter) if value.shape == parameter.shape else value.to(parameter.device)


def _parameters(optimizer: torch.optim.Optimizer) -> Iterator[Any]:
    for group in optimizer.param_groups:
        yield from group["params"]
