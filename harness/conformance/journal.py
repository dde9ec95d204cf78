"""What the hooks of a trial returned, and whether they left their arguments alone, through pluggy's monitoring."""

from __future__ import annotations

import dataclasses
import hashlib
import weakref
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from harness.batch import Batch, PolicyOutput
from harness.policies.rollouts import Rollouts

__all__ = ["ACTS", "Journal"]

# Hooks that act outside the loss: digests of what they return are kept.
ACTS = (
    "select_prompts", "allocate_rollouts", "generate", "score", "group_by", "keep", "next_round", "augment", "annotate",
    "shape_rewards", "update",
)  # fmt: skip


class Journal:
    """Watches every call of a hook. `returned`: digests of results by hook; `mutated`: what hooks changed in place."""

    def __init__(self, hooks: Any, *, arguments: bool = False) -> None:
        """arguments: also compare every argument before and after (slower)."""
        self.returned: dict[str, list[str]] = defaultdict(list)
        self.mutated: list[str] = []
        self.running: list[str] = []
        self.rollouts: Rollouts | None = None  # what was scored last
        self.said: list[weakref.ref[Tensor]] = []  # the log-probabilities that losses were computed from
        self._before: list[dict[str, tuple[Tensor, Tensor]]] = []
        self._arguments = arguments
        hooks.manager.add_hookcall_monitoring(self._enter, self._leave)

    def _enter(self, hook: str, implementations: Sequence[Any], arguments: Mapping[str, Any]) -> None:  # noqa: ARG002
        self.running.append(hook)
        if hook == "score":
            self.rollouts = arguments["rollouts"]
        if "output" in arguments:
            self.said.append(weakref.ref(arguments["output"].logp))
        if self._arguments:
            self._before.append({name: (x, x.detach().clone()) for name, x in _tensors(arguments)})

    def _leave(self, result: Any, hook: str, implementations: Sequence[Any], arguments: Mapping[str, Any]) -> None:  # noqa: ARG002
        self.running.pop()
        if self._arguments:
            for name, (tensor, before) in self._before.pop().items():
                if not _same(tensor.detach(), before):
                    self.mutated.append(f"{hook} changes {name} in place")
        if result.exception is None and hook in ACTS:
            self.returned[hook].append(digest(result.get_result()))


def digest(value: Any) -> str:
    """A hash of what a hook returned, bit for bit."""
    found = hashlib.sha256()
    for part in _parts(value):
        found.update(part)
    return found.hexdigest()[:16]


def _parts(value: Any) -> Iterator[bytes]:
    if isinstance(value, Tensor):
        yield f"{value.dtype}{tuple(value.shape)}".encode()
        yield value.detach().contiguous().numpy().tobytes()
    elif isinstance(value, Batch | Rollouts | PolicyOutput):
        for name, tensor in _named(value):
            yield name.encode()
            yield from _parts(tensor)
    elif isinstance(value, Mapping):
        for name in sorted(value):
            yield str(name).encode()
            yield from _parts(value[name])
    elif isinstance(value, nn.Module):
        yield type(value).__name__.encode()
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _parts(item)
    else:
        yield repr(value).encode()


def _tensors(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """The tensors of a hook's arguments, by name."""
    for name, value in arguments.items():
        if isinstance(value, Tensor):
            yield name, value
        elif isinstance(value, Batch | Rollouts | PolicyOutput):
            for field, tensor in _named(value):
                yield f"{name}.{field}", tensor


def _named(record: Any) -> Iterator[tuple[str, Tensor]]:
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if isinstance(value, Tensor):
            yield field.name, value
        elif isinstance(value, Mapping):
            yield from ((f"{field.name}[{key!r}]", x) for key, x in value.items() if isinstance(x, Tensor))
        elif field.name == "top_logits" and value is not None:
            yield "top_logits.logp", value.logp


def _same(a: Tensor, b: Tensor) -> bool:
    """Equal bit for bit where NaN equals NaN."""
    return a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())  # noqa: PLR0124 - NaN, of any dtype
