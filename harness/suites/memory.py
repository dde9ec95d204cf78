"""What a run's trials will take of memory, said before they start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import HarnessError
from harness.suites.schema import parse_bytes

if TYPE_CHECKING:
    from harness.training.config import TrialConfig
    from harness.training.memory import Plan

__all__ = ["available", "heaviest", "said", "within_limit"]


def heaviest(trials: Sequence[TrialConfig]) -> tuple[TrialConfig, Plan]:
    """The trial whose stack needs most, and its plan."""
    from harness.host import build_stack, discover
    from harness.policies.size import size_of
    from harness.training.memory import memory_plan
    from harness.training.prompts import longest_prompt

    shared = trials[0]
    size, prompt, catalogue = size_of(shared.policy), longest_prompt(shared), discover(shared.plugins)
    plans = []
    for name in dict.fromkeys(trial.method for trial in trials):
        stack = build_stack(name, catalogue)
        hooks = {hook for seat in stack.seats for hook in seat.info.hooks}
        trial = next(one for one in trials if one.method == name)
        plan = memory_plan(trial, size, prompt, needs=stack.needs, hooks=hooks)
        plans.append((plan.peak, "build" in hooks, trial, plan))
    _, _, trial, plan = max(plans, key=lambda found: found[:2])
    return trial, plan


def said(trials: Sequence[TrialConfig], workers: int) -> list[str]:
    """Lines for the terminal: the plan of the heaviest stack, and what is wrong with it; empty where it is unknown."""
    from harness.training.memory import gib

    try:
        trial, plan = heaviest(trials)
    except HarnessError:  # whatever is wrong is told where it matters
        return []
    count = min(workers, len(trials))
    lines = [f"memory, about: {plan.line()}" + (f"; {gib(count * plan.peak)} for {count} workers" if count > 1 else "")]
    free = available(trial.policy.device)
    if free is not None and count * plan.peak > free:
        lines.append(f"only {gib(free)} GiB are free: {_less(trial, free // count)}, or give fewer --workers")
    limit = trial.limits.memory
    if limit is not None and trial.policy.device == "cpu" and plan.peak > parse_bytes(limit):
        lines.append(f"limits.memory is {limit}: {_less(trial, parse_bytes(limit))}, or raise it")
    return lines


def within_limit(trial: TrialConfig, used: int) -> str:
    """What to say of a trial that was ended because it used more than `limits.memory`."""
    from harness.training.memory import gib, out_of_memory

    limit = str(trial.limits.memory)
    return f"used {gib(used)} GiB of memory, limits.memory is {limit}; {out_of_memory(trial, parse_bytes(limit))}"


def _less(trial: TrialConfig, limit: int) -> str:
    """How to make a plan fit: the largest micro-batch, or other settings where none does."""
    from harness.policies.size import size_of
    from harness.training.memory import largest_micro_batch
    from harness.training.prompts import longest_prompt

    fitting = largest_micro_batch(trial, size_of(trial.policy), longest_prompt(trial), limit)
    if fitting and fitting < trial.learner.micro_batch:
        return f"learner.micro_batch {fitting} is the largest that fits by the plan"
    return "policy.lora, policy.gradient_checkpointing or a smaller sampling.max_tokens take less"


def available(device: str) -> int | None:
    """Bytes that are free on the machine, within its control group, or on the device; None where nobody says."""
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.mem_get_info(device)[0]) if torch.cuda.is_available() else None
    found = []
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")]
        whole = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii")
        found += [] if whole == "max" else [int(whole) - int(used)]
    except (OSError, ValueError, IndexError):
        pass
    return min(found, default=None)
