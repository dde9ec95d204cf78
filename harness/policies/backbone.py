"""What a policy needs of a network, and which implementation a model gets."""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

from torch import Tensor

from harness.errors import UsageError
from harness.policies.forward import Scored
from harness.policies.generic import GenericBackbone
from harness.policies.llama import LlamaBackbone, is_lean

__all__ = ["PLAIN", "Backbone", "Decoder", "Manner", "backbone_of"]


class Decoder(Protocol):
    """Decoding step by step. Rows are sequences; a call of `select` may repeat or drop them."""

    def prefill(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Logits [B, V] after the left-padded prompts [B, P]."""

    def select(self, index: Tensor) -> None:
        """Make row i of the batch what row index[i] was."""

    def step(self, tokens: Tensor) -> Tensor:
        """Logits [B, V] after one more token [B] per row."""


class Backbone(Protocol):
    """Scoring whole completions, and decoding."""

    cache_bytes: int  # keys and values of one token

    def score(
        self, prompt_ids: Tensor, prompt_mask: Tensor, completion_ids: Tensor, lengths: Tensor, *, hidden: bool = False
    ) -> Scored:
        """Logits that predict every completion token; prompts left-padded, completions right-padded."""

    def decoder(self, capacity: int) -> Decoder:
        """A decoder for sequences of up to `capacity` tokens, over the weights as they are now."""


@dataclasses.dataclass(frozen=True)
class Manner:
    """How a network computes: `attention` as transformers calls it (None: the fastest that is exact here)."""

    attention: str | None = None
    gradient_checkpointing: bool = False
    compile: bool = False


PLAIN = Manner()


def backbone_of(
    model: Any, precision: str, manner: Manner = PLAIN, *, plain: bool = False, apart: bool = False
) -> Backbone:
    """The lean forward where it computes the same function, the model's own everywhere else.

    `plain` asks for the model's own, as an attention or the compiler of one's choice does; `apart` for the arithmetic
    of a network with adapters.
    """
    if manner.compile:
        check_compiler(manner)
    if is_lean(model) and not (plain or manner.compile or manner.attention):
        return LlamaBackbone(model, precision, recompute=manner.gradient_checkpointing, apart=apart)
    return GenericBackbone(model, precision, recompute=manner.gradient_checkpointing, compiled=manner.compile)


def check_compiler(manner: Manner) -> None:
    """Raise UsageError where torch.compile cannot work."""
    import torch

    if manner.gradient_checkpointing:
        raise UsageError("policy.compile and policy.gradient_checkpointing exclude each other; set one to false")
    try:
        from torch._inductor.cpp_builder import get_cpp_compiler

        get_cpp_compiler()
    except Exception as error:  # noqa: BLE001 - whatever the compiler says, it is not there
        reason = str(error).strip().splitlines()[:1]
        raise UsageError(
            f"policy.compile needs a C++ compiler ({reason[0] if reason else type(error).__name__}); "
            "install one (g++), or set it to false"
        ) from None
    if torch.cuda.is_available() and not torch.utils._triton.has_triton():  # noqa: SLF001 - nothing public says so
        raise UsageError("policy.compile needs Triton on CUDA; install triton, or set it to false")
