"""The ranks that train one trial together. A single process is a world of its own, and exchanges nothing.

All ranks hold the same batch and call the same hooks on it: a hook sees the whole step, whatever the number of ranks.
What is divided is the work on rows (sampling, passes of the policy), and what is exchanged is its result. A sum over
ranks in which all but one give 0 is exact, so that every rank goes on with the same bits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

__all__ = ["SOLO", "Ranks", "World"]

T = TypeVar("T")


class World:
    """One process alone."""

    rank = 0
    size = 1

    @property
    def leader(self) -> bool:
        """Whether this is the rank that writes, scores and decides."""
        return self.rank == 0

    def agree(self, value: T) -> T:
        """The leader's value, on every rank."""
        return value

    def first(self, make: Callable[[], T]) -> T:
        """What the leader makes, on every rank; what it raises, too."""
        return make()

    def gather(self, value: T) -> list[T]:
        """The values of all ranks, in their order."""
        return [value]

    def total(self, tensor: Tensor) -> Tensor:
        """The tensor, summed over ranks in place."""
        return tensor

    @contextlib.contextmanager
    def gradients(self, parameters: Sequence[Tensor], *, alike: bool = False) -> Iterator[None]:  # noqa: ARG002
        """Sum over ranks what the block adds to gradients; `alike`: every rank adds the whole of it."""
        yield


SOLO = World()


class Ranks(World):
    """The processes of an initialised torch.distributed group. Objects travel over gloo, tensors over its backend."""

    def __init__(self) -> None:
        from torch import distributed

        self.distributed: Any = distributed
        self.rank = distributed.get_rank()
        self.size = distributed.get_world_size()
        alone = "nccl" not in str(distributed.get_backend())
        self.control = distributed.group.WORLD if alone else distributed.new_group(backend="gloo")

    @classmethod
    @contextlib.contextmanager
    def joined(cls, rank: int, size: int, store: Path, device: str) -> Iterator[Ranks]:
        """The group of `size` ranks of this machine that meet in the file `store`; NCCL for CUDA, else gloo."""
        from torch import distributed

        cuda = device.startswith("cuda")
        if cuda:
            torch.cuda.set_device(rank)
            torch.use_deterministic_algorithms(mode=True, warn_only=True)  # or ranks would part in their last bits
        backend = "cpu:gloo,cuda:nccl" if cuda else "gloo"
        distributed.init_process_group(backend, init_method=f"file://{store}", rank=rank, world_size=size)
        try:
            yield cls()
        finally:
            distributed.destroy_process_group()

    def agree(self, value: T) -> T:
        """The leader's value, on every rank."""
        box = [value]
        self.distributed.broadcast_object_list(box, src=0, group=self.control)
        return box[0]

    def first(self, make: Callable[[], T]) -> T:
        """What the leader makes, on every rank; what it raises, too."""
        made: Any = None
        error: Exception | None = None
        if self.leader:
            try:
                made = make()
            except Exception as fault:  # noqa: BLE001 -- raised below, on every rank
                error = fault
        made, error = self.agree((made, error))
        if error is not None:
            raise error
        return made

    def gather(self, value: T) -> list[T]:
        """The values of all ranks, in their order."""
        found: list[Any] = [None] * self.size
        self.distributed.all_gather_object(found, value, group=self.control)
        return found

    def total(self, tensor: Tensor) -> Tensor:
        """The tensor, summed over ranks in place."""
        self.distributed.all_reduce(tensor)
        return tensor

    @contextlib.contextmanager
    def gradients(self, parameters: Sequence[Tensor], *, alike: bool = False) -> Iterator[None]:
        """Sum over ranks what the block adds to gradients; `alike`: every rank adds the whole of it.

        A parameter that no rank gave a gradient has none afterwards, as in a single process.
        """
        parameters = [parameter for parameter in parameters if not hasattr(parameter, "device_mesh")]  # FSDP sums those
        before = [parameter.grad for parameter in parameters]
        for parameter in parameters:
            parameter.grad = None
        yield
        moved = self._moved(parameters)
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in moved]
        if parts:
            flat = torch.cat([part.reshape(-1) for part in parts])
            if alike:
                flat /= self.size
            sums = self.total(flat).split([part.numel() for part in parts])
            for parameter, part in zip(moved, sums, strict=True):
                parameter.grad = part.view_as(parameter).clone()
        for parameter, grad in zip(parameters, before, strict=True):
            if grad is not None:
                parameter.grad = grad if parameter.grad is None else grad + parameter.grad

    def _moved(self, parameters: Sequence[Tensor]) -> list[Tensor]:
        """The parameters that got a gradient on any rank."""
        mine = [parameter.grad is not None for parameter in parameters]
        flags = torch.tensor(mine, dtype=torch.float32, device=parameters[0].device) if mine else torch.zeros(0)
        everywhere = self.total(flags).tolist()
        return [parameter for parameter, count in zip(parameters, everywhere, strict=True) if count]
