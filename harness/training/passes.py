"""Passes of the policy over a batch: in chunks of rows of like length, trimmed, gathered back to [N, T].

A chunk changes no result beyond rounding, since no row looks at another; it keeps padding low and activations in cache.
The rows of a prompt stay together, because a backbone may read their prompt once. Rows without any token to score are
skipped unless someone reads their prompt's state.
"""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from harness.batch import Batch, PolicyOutput, TopLogits
from harness.distributed.world import SOLO, World
from harness.errors import Blamed
from harness.host.trained import owner_of

if TYPE_CHECKING:
    from harness.policies.policy import Policy

__all__ = ["CHUNK", "Chunk", "Pass", "Plan", "exact_kl", "row_tokens"]

CHUNK = 32  # rows: on a CPU the activations of 32 short rows stay in cache; see benchmarks/step.py


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Rows of a batch, the first prompt column that any of them uses, and how many completion columns they need."""

    rows: Tensor
    start: int
    width: int


def row_tokens(batch: Batch) -> Tensor:
    """[N] the whole row: prompt and completion, what a pass over it is charged."""
    return batch.prompt_mask.to(torch.long).sum(1) + batch.lengths


class Plan:
    """How a batch is cut into chunks of at most `size` rows."""

    def __init__(
        self, batch: Batch, size: int, *, whole: bool, every_row: bool, world: World = SOLO, even: bool = False
    ) -> None:
        """`whole` keeps all T columns, for modules whose outputs have shapes of their own; `every_row` skips none.

        Of the chunks of a batch, every rank of `world` has its own; a rank may have none. `even` gives all of them as
        many, some without rows: passes of sharded weights are made together or not at all.
        """
        positions = torch.arange(1, batch.tokens + 1, device=batch.device)
        extent = (positions * (batch.mask > 0)).amax(1) if batch.tokens else batch.lengths.new_zeros(len(batch))
        prompt = batch.prompt_mask.to(torch.long).sum(1)
        order = _order(batch.prompt, prompt + extent)
        if not every_row:
            order = order[extent[order] > 0]
        width = batch.prompt_ids.shape[1]
        self.chunks: list[Chunk] = []
        pieces = order.split(min(size, -(-len(order) // world.size))) if len(order) else ()
        self.scarce = len(pieces) < world.size  # a rank has nothing to do
        for rows in pieces[world.rank :: world.size]:
            used = batch.tokens if whole else int(extent[rows].max())
            self.chunks.append(Chunk(rows, width - int(prompt[rows].max()), used))
        if even:
            missing = -(-len(pieces) // world.size) - len(self.chunks)
            self.chunks += [Chunk(order[:0], 0, batch.tokens if whole else 1)] * missing
        self.rows = len(batch)
        self.tokens = batch.tokens
        self.planned = len(order)

    def __iter__(self) -> Iterator[Chunk]:
        """Chunk after chunk, shortest rows first."""
        return iter(self.chunks)


class Pass:
    """The policy's named tensors for a batch, chunk by chunk or gathered to the whole."""

    def __init__(
        self, policy: Policy, batch: Batch, needs: Collection[str], modules: Mapping[str, Any], size: int,
        *, alone: bool = False,
    ) -> None:  # fmt: skip
        """`alone`: this rank runs all rows, as every other does."""
        self.policy = policy
        self.world: World = SOLO if alone else getattr(policy, "world", SOLO)
        self.batch = batch
        self.needs = frozenset(needs) & {"entropy", "hidden", "top_logits"} | ({"hidden"} if modules else set())
        self.modules = modules
        self.size = size
        states = "hidden" in self.needs
        size = min(size, CHUNK) if batch.device.type == "cpu" else size
        self.even = bool(getattr(policy, "sharded", False))
        self.plan = Plan(batch, size, whole=states, every_row=states, world=self.world, even=self.even)
        hot = bool((batch.temperature != 1.0).any())
        self.temperature: Tensor | None = batch.temperature if hot else None
        self._specs: dict[str, Any] = {}

    def chunk(self, chunk: Chunk) -> dict[str, Tensor]:
        """The named tensors of one chunk; names with `:` are module outputs, `top_ids` is the only one of integers."""
        batch, rows, width = self.batch, chunk.rows, chunk.width
        forward = self.policy.forward(
            batch.prompt_ids[rows, chunk.start :],
            batch.prompt_mask[rows, chunk.start :],
            batch.completion_ids[rows, :width],
            batch.mask[rows, :width],
            temperature=1.0 if self.temperature is None else self.temperature[rows],
            needs=self.needs,
        )
        found: dict[str, Tensor | None] = {
            "logp": forward.logp,
            "entropy": forward.entropy,
            "hidden": forward.hidden,
            "prompt_hidden": forward.prompt_hidden,
        }
        if forward.top_logits is not None:
            found |= {"top_ids": forward.top_logits.ids, "top_logp": forward.top_logits.logp}
        if self.modules:
            part = batch[rows]
            for name, module in self.modules.items():
                leaves, self._specs[name] = pytree.tree_flatten(_call(name, module, part, forward.hidden))
                found |= {f"{name}:{i}": leaf for i, leaf in enumerate(leaves)}
        return {name: value for name, value in found.items() if value is not None}

    def gather(self, parts: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        """Chunk tensors put back in the batch's order, [N, T, ...] where they have tokens, 0 for skipped rows.

        Those of all ranks together: what other ranks have run is 0 here, and the sum over ranks is exact.
        """
        if parts:
            rows = torch.cat([chunk.rows for chunk in self.plan])
            found = {name: self._whole(name, rows, [part[name] for part in parts]) for name in parts[0]}
        else:
            shape = (self.plan.rows, self.plan.tokens)
            found = {"logp": torch.zeros(shape, dtype=self.batch.mask.dtype, device=self.batch.device)}
        if self.world.size == 1:
            return found
        if self.plan.scarce:  # the first rank has rows if any has: it knows all names and shapes
            shapes = {name: (x.shape, x.dtype) for name, x in found.items()}
            specs = {name: pytree.treespec_dumps(spec) for name, spec in self._specs.items()}
            shapes, specs = self.world.agree((shapes, specs))
            self._specs = {name: pytree.treespec_loads(spec) for name, spec in specs.items()}
            blank = {name: torch.zeros(s, dtype=d, device=self.batch.device) for name, (s, d) in shapes.items()}
            found = blank | {name: x for name, x in found.items() if parts}
        return {name: self.world.total(x) for name, x in found.items()}

    def _whole(self, name: str, rows: Tensor, parts: Sequence[Tensor]) -> Tensor:
        plan = self.plan
        if name != "prompt_hidden" and ":" not in name:
            parts = [_widen(part, plan.tokens) for part in parts]
        stacked = torch.cat(list(parts)) if len(parts) > 1 else parts[0]
        full = stacked.new_zeros((plan.rows, *stacked.shape[1:]))
        return full.index_copy(0, rows, stacked)

    def output(self, tensors: Mapping[str, Tensor]) -> PolicyOutput:
        """Gathered tensors as what hooks receive; without `logp_old` in the batch, it is `logp` itself."""
        logp = tensors["logp"]
        old = self.batch.logp_old
        top = TopLogits(tensors["top_ids"], tensors["top_logp"]) if "top_ids" in tensors else None
        modules = {}
        for name, spec in self._specs.items():
            count = sum(key.startswith(f"{name}:") for key in tensors)
            modules[name] = pytree.tree_unflatten([tensors[f"{name}:{i}"] for i in range(count)], spec)
        return PolicyOutput(
            logp=logp,
            logp_old=logp.detach() if old is None else old,
            mask=self.batch.mask,
            entropy=tensors.get("entropy"),
            hidden=tensors.get("hidden"),
            prompt_hidden=tensors.get("prompt_hidden"),
            top_logits=top,
            modules=modules,
        )

    @torch.no_grad()
    def without_gradient(self) -> dict[str, Tensor]:
        """One pass over all rows that keeps no graph."""
        return self.gather([self.chunk(chunk) for chunk in self.plan])


def exact_kl(policy: Any, other: Any, batch: Batch, size: int) -> Tensor:
    """KL(policy || other) [N, T] at every token of a batch, in chunks of at most `size` rows."""
    world: World = getattr(policy, "world", SOLO)
    size = min(size, CHUNK) if batch.device.type == "cpu" else size
    even = any(bool(getattr(one, "sharded", False)) for one in (policy, other))
    plan = Plan(batch, size, whole=False, every_row=False, world=world, even=even)
    full = torch.zeros_like(batch.mask)
    for chunk in plan:
        rows, width = chunk.rows, chunk.width
        part = policy.kl(
            other,
            batch.prompt_ids[rows, chunk.start :],
            batch.prompt_mask[rows, chunk.start :],
            batch.completion_ids[rows, :width],
            batch.mask[rows, :width],
            temperature=batch.temperature[rows],
        )
        full[rows] = _widen(part, plan.tokens).to(full.dtype)
    return world.total(full)


def _call(name: str, module: Any, batch: Batch, hidden: Tensor | None) -> Any:
    """What a built module says. Raises PluginError for what it raises and for outputs that have not a row a row.

    It names the plugin that built the module, whatever hook the pass is made in.
    """
    whose = f"{owner_of(module)}, built module {name!r}"
    try:
        found = module(batch, hidden)
    except (MemoryError, torch.OutOfMemoryError):
        raise  # nobody's fault
    except (Exception, SystemExit) as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(str(error).split())
        where = f"({frame.filename}:{frame.lineno})"
        raise Blamed(f"{whose}: {type(error).__name__}: {text} {where}") from error
    for leaf in pytree.tree_leaves(found):
        if not isinstance(leaf, Tensor) or leaf.shape[:1] != (len(batch),):
            got = list(leaf.shape) if isinstance(leaf, Tensor) else type(leaf).__name__
            raise Blamed(f"{whose}: expected tensors with {len(batch)} rows, got {got}")
    return found


def _order(prompt: Tensor, length: Tensor) -> Tensor:
    """Rows by the longest row of their prompt, prompts together."""
    if len(prompt) == 0:
        return prompt
    longest = length.new_zeros(int(prompt.max()) + 1).scatter_reduce(0, prompt, length, "amax")
    order = prompt.argsort(stable=True)
    return order[longest[prompt[order]].argsort(stable=True)]


def _widen(x: Tensor, width: int) -> Tensor:
    missing = width - x.shape[1]
    return torch.cat([x, x.new_zeros((x.shape[0], missing, *x.shape[2:]))], 1) if missing else x
