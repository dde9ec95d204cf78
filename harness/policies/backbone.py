"""What a policy needs of a network, and which implementation a model gets."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor

from harness.policies.forward import Scored
from harness.policies.generic import GenericBackbone
from harness.policies.llama import LlamaBackbone, is_lean

__all__ = ["Backbone", "Decoder", "backbone_of"]


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


def backbone_of(model: Any, precision: str) -> Backbone:
    """The lean forward where it computes the same function, the model's own everywhere else."""
    return LlamaBackbone(model, precision) if is_lean(model) else GenericBackbone(model, precision)
