"""What a trial ends with, and the key that names it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.training import TRAINING_SEMANTICS

if TYPE_CHECKING:
    from harness.training.config import TrialConfig

__all__ = ["TrialResult", "trial_key"]

# settings of the policy that came after the first results: at their defaults they are no part of a key
YOUNGER = ("revision", "chat_options", "stop", "lora", "attention", "gradient_checkpointing", "compile")


@dataclasses.dataclass(frozen=True)
class TrialResult:
    """How a trial ended: status done, failed, diverged, timeout or interrupted; `score` is what counts for it.

    For a trial that did not end well, `score` is the lower of the untrained policy's and its last evaluation's.
    """

    status: str
    error: str | None = None
    score: float | None = None
    untrained: float | None = None
    last: float | None = None
    spent: float = 0.0
    limit: float = 0.0
    left: float = 0.0
    currency: str = "compute"
    steps: int = 0
    seconds: float = 0.0

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> TrialResult:
        """The result that a result.json holds."""
        names = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in found.items() if name in names})


def trial_key(config: TrialConfig, stack: Mapping[str, Any], digests: Mapping[str, str]) -> str:
    """What names a trial: a hash of everything that may change its numbers.

    `stack` is `Stack.spec()` (every plugin's parameters, version and source digest), `digests` those of data and
    initial weights. Limits, resources and checkpoint intervals change no number and are left out.
    """
    settings = config.model_dump(mode="json", exclude={"limits", "resources", "checkpoint_seconds", "plugins"})
    if not config.verifier.flip:
        del settings["verifier"]  # younger than the first results: where it does nothing, their keys stay
    if config.sampler.engine == "builtin":
        del settings["sampler"]["engine"], settings["sampler"]["vllm"]
    if not config.evaluation.tasks:
        for name in ("tasks", "tasks_max_tokens", "shots"):
            del settings["evaluation"][name]
    if config.tuned is None:
        del settings["tuned"]
    else:
        del settings["tuned"]["spent"]  # tells what the search cost, and changes nothing
    plain = type(config.policy)().model_dump(mode="json")
    for name in YOUNGER:
        if settings["policy"][name] == plain[name]:
            del settings["policy"][name]
    parts = {"config": settings, "stack": stack, "digests": dict(digests), "semantics": TRAINING_SEMANTICS}
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:32]
