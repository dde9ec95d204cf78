"""What a trial has learned, as a directory that transformers, peft and vLLM read."""

from __future__ import annotations

from pathlib import Path

import torch

from harness.errors import HarnessError, UsageError
from harness.files import read_json
from harness.policies.hub import commit_of
from harness.policies.policy import Policy
from harness.policies.registry import resolve
from harness.training import checkpoint
from harness.training.config import PolicyConfig

__all__ = ["export"]


def export(trial: Path, out: Path, *, adapter: bool = False) -> Policy:
    """Write the policy of a trial's newest checkpoint to `out`: the whole model, or with `adapter` that alone.

    Raises UsageError for a directory without a trial, HarnessError where the weights below an adapter have changed.
    """
    record = read_json(trial / "config.json").get("config")
    if record is None:
        raise UsageError(f"{trial} is no trial's directory: it has no config.json; give runs/SUITE/METHOD/seed-N")
    if out.exists() and any(out.iterdir()):
        raise UsageError(f"{out} is not empty; give another directory")
    found = checkpoint.load_newest(trial / "checkpoints")
    if found is None:
        raise UsageError(f"{trial} has no checkpoint; run the trial first")
    settings = PolicyConfig.model_validate(record["policy"])
    if adapter and settings.lora is None:
        raise UsageError(f"{trial} trained no adapter; leave out --adapter")
    policy, state = Policy.of(settings, device="cpu"), found[1]["trial"]
    if state.get("below") != policy.base_digest():
        raise HarnessError(f"{settings.model} has other weights now than those that {trial} was trained over")
    with torch.no_grad():
        for name, parameter in policy.weights().items():
            parameter.copy_(state["policy"][name])
    if adapter:
        path = resolve(settings.model, settings.revision)
        commit = commit_of(path)
        policy.save_adapter(out, base=settings.model if commit else str(path.resolve()), revision=commit)
    else:
        policy.save(out)
    return policy
