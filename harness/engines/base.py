"""What an engine is asked and what it answers; a module per engine implements `Engine`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

__all__ = ["Answer", "Engine", "Job", "SamplerSettings", "VllmSettings"]


@dataclass(frozen=True)
class Job:
    """One completion to write: the tokens before it, and how to draw."""

    context: tuple[int, ...]  # prompt and prefix
    limit: int  # new tokens at most
    temperature: float
    greedy: bool
    seed: int  # 63 bits


@dataclass(frozen=True)
class Answer:
    """The new tokens, a stop token included, with the log-probabilities of the distribution they were drawn from."""

    ids: tuple[int, ...]
    logp: tuple[float, ...]


class Engine(Protocol):
    """Writes completions with the weights it was last given."""

    def write(self, jobs: Sequence[Job], stop_ids: Sequence[int]) -> list[Answer]:
        """An answer to every job, in order; a token of `stop_ids` ends it."""

    def load(self, directory: Path) -> None:
        """Take the weights in `directory` (safetensors, as transformers saves them), and forget what is cached."""

    def close(self) -> None:
        """End every process that belongs to the engine."""


class VllmSettings(Protocol):
    """The section `sampler.vllm` of a suite."""

    @property
    def server(self) -> str | None: ...
    @property
    def timeout(self) -> float: ...
    @property
    def context(self) -> int | None: ...
    @property
    def sequences(self) -> int: ...
    @property
    def gpu_memory(self) -> float: ...
    @property
    def tensor_parallel(self) -> int: ...
    @property
    def eager(self) -> bool: ...
    @property
    def cpu_cache_gib(self) -> int: ...


class SamplerSettings(Protocol):
    """The section `sampler` of a suite."""

    @property
    def engine(self) -> str: ...
    @property
    def vllm(self) -> VllmSettings: ...
