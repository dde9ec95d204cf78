"""What an engine is asked and what it answers; a module per engine implements `Engine`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from harness.errors import UsageError

__all__ = ["Answer", "Engine", "Job", "SamplerSettings", "VllmSettings", "check_room", "parameters"]


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
    """The new tokens, a stop token included, with the log-probabilities of the distribution they were drawn from.

    Greedy ones come with those at temperature 1.
    """

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


def parameters(job: Job, stop_ids: Sequence[int]) -> dict[str, Any]:
    """Sampling parameters of a job, by the names that both the Python and the HTTP interface of vLLM have."""
    return {
        "temperature": 0.0 if job.greedy else job.temperature,
        "top_p": 1.0,
        "top_k": 0,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "max_tokens": job.limit,
        "seed": job.seed,
        "stop_token_ids": list(stop_ids),
        "ignore_eos": True,  # of the model's own settings; `stop_ids` has them all
        "skip_special_tokens": False,
        "logprobs": 0,  # of the token that was drawn, and no other
    }


def check_room(jobs: Sequence[Job], room: int | None) -> None:
    """UsageError for a job that an engine of so many tokens would cut short without a word."""
    longest = max((len(job.context) + job.limit for job in jobs), default=0)
    if room is not None and longest > room:
        raise UsageError(
            f"a prompt and its completion may take {longest} tokens, and vLLM was started for {room}; "
            "raise sampler.vllm.context (a server: --max-model-len) or lower sampling.max_tokens"
        )


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
