"""How much memory a trial will take, reckoned from its settings before it runs; and what to say when it was not enough.

The plan is an upper estimate of what torch holds at one time; `harness doctor` measures. Nothing here changes what
runs: results never depend on how much memory is free.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection
from typing import TYPE_CHECKING

from harness.policies.limits import LIMIT, side_by_side

if TYPE_CHECKING:
    from harness.policies.size import Size
    from harness.training.config import TrialConfig

__all__ = ["Plan", "cache_bytes", "gib", "largest_micro_batch", "memory_plan", "out_of_memory", "ran_out"]

PROCESS = {"cpu": 600 * 2**20, "cuda": 600 * 2**20}  # the interpreter with torch; a context on the device


@dataclasses.dataclass(frozen=True)
class Plan:
    """Bytes of one trial: `held` all the time, by name, and beside it `training` or `sampling`, whichever is more."""

    held: dict[str, int]
    training: int
    sampling: int
    loading: int  # beside process and weights, before anything else is there
    rows: tuple[int, int]  # trained and sampled at one time
    tokens: tuple[int, int]  # of the longest prompt and completion

    @property
    def peak(self) -> int:
        """The most that is held at one time."""
        loading = self.held["process"] + self.held["weights"] + self.loading
        return max(loading, sum(self.held.values()) + max(self.training, self.sampling))

    def line(self) -> str:
        """The plan in a line."""
        parts = ", ".join(f"{name} {gib(amount)}" for name, amount in self.held.items() if gib(amount) != "0.00")
        prompt, completion = self.tokens
        return (
            f"{gib(self.peak)} GiB a trial: {parts}; then {gib(self.training)} to train {self.rows[0]} rows of "
            f"{prompt} + {completion} tokens, or {gib(self.sampling)} to sample {self.rows[1]}"
        )


def gib(amount: float) -> str:
    """Bytes in GiB, two digits that say something."""
    size = amount / 2**30
    return f"{size:.1f}" if size >= 10 else f"{size:.2f}"


def memory_plan(
    config: TrialConfig, size: Size, prompt: int, *, needs: Collection[str] = (), hooks: Collection[str] = ()
) -> Plan:
    """The plan of a stack with these needs and hooks, for prompts of at most `prompt` tokens.

    Modules that a stack builds are not in it: only the stack knows them.
    """
    learner, sampling = config.learner, config.sampling
    kind = "cuda" if config.policy.device.startswith("cuda") else "cpu"
    rows = min(learner.micro_batch, -(-sampling.prompts * sampling.group_size // learner.minibatches))
    sampled = sampled_rows(config, size, prompt)
    held = {"process": PROCESS[kind], **_weights(config, size, needs, hooks)}
    tokens = (prompt, sampling.max_tokens)
    training, sampling_takes = _training(config, size, rows, tokens), _sampling(config, size, sampled, tokens)
    return Plan(held, training, sampling_takes, size.files, (rows, sampled), tokens)


def largest_micro_batch(config: TrialConfig, size: Size, prompt: int, limit: int) -> int:
    """The largest micro-batch, up to the suite's own, whose plan stays within `limit` bytes; 0 where none does."""
    needs, hooks = asked_by(config)
    low, high = 0, config.learner.micro_batch
    while low < high:
        middle = (low + high + 1) // 2
        learner = config.learner.model_copy(update={"micro_batch": middle})
        plan = memory_plan(config.model_copy(update={"learner": learner}), size, prompt, needs=needs, hooks=hooks)
        low, high = (middle, high) if plan.peak <= limit else (low, middle - 1)
    return low


def asked_by(config: TrialConfig) -> tuple[Collection[str], Collection[str]]:
    """The needs and hooks of a trial's stack, which take memory too."""
    from harness.host import build_stack, discover

    stack = build_stack(config.method, discover(config.plugins))
    return stack.needs, {hook for seat in stack.seats for hook in seat.info.hooks}


def ran_out(error: BaseException) -> bool:
    """Whether an exception says that there is no memory left, on the device or on the machine."""
    import torch

    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and ("can't allocate memory" in text or "not enough memory" in text)


def out_of_memory(config: TrialConfig, limit: int | None = None) -> str:
    """What to do where a trial ran out of memory, of `limit` bytes or of all that this machine or device has."""
    from harness.policies.size import size_of
    from harness.training.prompts import longest_prompt

    micro = config.learner.micro_batch
    said = f"out of memory with learner.micro_batch = {micro}"
    try:
        whole = _installed(config.policy.device) if limit is None else limit
        fitting = largest_micro_batch(config, size_of(config.policy), longest_prompt(config), whole)
    except Exception:  # noqa: BLE001 - advice only: the fault that is told is another
        return f"{said}; give a smaller one (`harness doctor` measures which one fits)"
    if not fitting:
        ways = ["more memory", *_untried(config), "a smaller sampling.max_tokens"]
        return (
            f"{said}; by the plan no micro-batch fits into {gib(whole)} GiB: give {', '.join(ways[:-1])} or {ways[-1]}"
        )
    if fitting >= micro:
        more = f"by the plan {micro} should fit into {gib(whole)} GiB, so something else holds memory"
        return f"{said}; {more}: give fewer --workers or a smaller one (`harness doctor` measures which one fits)"
    largest = f"the largest that fits into {gib(whole)} GiB by the plan is {fitting}"
    return f"{said}; {largest}: set learner.micro_batch to it (`harness doctor` measures it)"


def _untried(config: TrialConfig) -> list[str]:
    """Settings that save memory and that the trial does not have."""
    policy = config.policy
    tried = {"policy.lora": policy.lora is not None, "policy.gradient_checkpointing": policy.gradient_checkpointing}
    return [name for name, there in tried.items() if not there]


def sampled_rows(config: TrialConfig, size: Size, prompt: int) -> int:
    """How many completions the sampler of a rank decodes side by side: a matter of shapes, never of free memory."""
    sampling, evaluation = config.sampling, config.evaluation
    trained = sampling.prompts * sampling.group_size if config.sampler.engine == "builtin" else 0
    wanted = -(-max(trained, evaluation.batch) // config.resources.ranks)
    capacity = prompt + max(sampling.max_tokens, evaluation.max_tokens or 0)
    return min(wanted, side_by_side(size.parameters + size.adapter, capacity, cache_bytes(config, size)))


def cache_bytes(config: TrialConfig, size: Size) -> int:
    """Bytes of keys and values a token while sampling."""
    number = 8 if config.policy.dtype == "float64" else 2 if config.policy.dtype == "bfloat16" and size.lean else 4
    return 2 * size.layers * size.kv_heads * size.head * number


def _weights(config: TrialConfig, size: Size, needs: Collection[str], hooks: Collection[str]) -> dict[str, int]:
    """What is there from the first step to the last."""
    number = 8 if config.policy.dtype == "float64" else 4
    adapted = config.policy.lora is not None
    light = 2 * size.below if adapted and config.policy.dtype == "bfloat16" else 0  # under the adapter, in two bytes
    trained = (size.adapter if adapted else size.parameters) * number
    weights = (size.parameters + size.adapter) * number - light
    lag = config.sampler.lag
    return {
        "weights": weights,
        "gradients": trained,
        "optimizer": 2 * trained,
        "reference": 0 if adapted or "reference" not in needs else weights,
        "lagged weights": (lag + 2) * trained if lag else 0,
        "a step's start": trained if "update" in hooks else 0,  # such stacks look ahead and come back
    }


def _training(config: TrialConfig, size: Size, rows: int, tokens: tuple[int, int]) -> int:
    """Activations of the rows that keep a graph, and their logits with gradients."""
    policy, (prompt, completion) = config.policy, tokens
    number = {"float64": 8, "float32": 4, "bfloat16": 3}[policy.dtype]  # bfloat16: half of them are float32
    # the lean forward reads a prompt once for all completions behind it
    prompts = -(-rows // config.sampling.group_size) if size.lean else rows
    positions = rows * completion + prompts * prompt
    queries, keys = size.heads * size.head, size.kv_heads * size.head
    layer = positions * number * (4 * size.width + 3 * (queries + keys) + 4 * size.inner)
    if size.lean:
        layer += rows * sum(tokens) * number * 2 * (keys + (queries if keys < queries else 0))
    kept = size.layers * positions * 4 * size.width if policy.gradient_checkpointing else layer * (size.layers - 1)
    cast = 2 * size.parameters if policy.dtype == "bfloat16" and policy.lora is None else 0
    logits = min(rows * completion * size.vocabulary, LIMIT)
    return int(layer + kept + cast + 3 * logits * max(number, 4))


def _sampling(config: TrialConfig, size: Size, rows: int, tokens: tuple[int, int]) -> int:
    """Keys and values (some twice while rows leave), probabilities, weights prepared for decoding."""
    cache = rows * sum(tokens) * cache_bytes(config, size)
    probabilities = 4 * rows * size.vocabulary * 4
    prepared = 0
    if size.lean:
        joined = size.layers * size.width * (size.heads + 2 * size.kv_heads) * size.head
        prepared = _cast(config, size, joined) if config.policy.dtype == "bfloat16" else 4 * joined
    return int(1.25 * cache + probabilities + prepared)


def _cast(config: TrialConfig, size: Size, joined: int) -> int:
    """Copies in bfloat16 of float32 matrices; those below an adapter are in it, and only the joined ones are copied."""
    if config.policy.lora is None:
        return 2 * size.parameters
    matrices = joined + size.layers * size.width * (size.heads * size.head + 3 * size.inner)
    return 2 * (joined + max(matrices - size.below, 0)) + 4 * size.adapter


def _installed(device: str) -> int:
    """Bytes that the device has, or the machine."""
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.get_device_properties(device).total_memory)
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
