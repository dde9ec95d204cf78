"""The head: from hidden states to next-token logits, in float32 whatever computes below it."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from harness.policies.limits import LIMIT

__all__ = ["Head", "head_of"]


@dataclasses.dataclass(frozen=True)
class Head:
    """`scale * linear(states)`, bent to +-`cap` where there is one (Gemma 2, arXiv 2408.00118)."""

    linear: Any
    scale: float = 1.0
    cap: float | None = None

    @property
    def vocabulary(self) -> int:
        """V, the number of logits."""
        return int(self.linear.weight.shape[0])

    def __call__(self, states: Tensor) -> Tensor:
        """Logits [..., V] of states [..., D], in the precision of the head's weights: never bfloat16."""
        weight, bias = self.linear.weight, self.linear.bias
        with torch.autocast(states.device.type, enabled=False):
            logits = functional.linear(states.to(weight.dtype), weight, bias)
            if self.scale != 1.0:
                logits = logits * self.scale
            return logits if self.cap is None else torch.tanh(logits / self.cap) * self.cap

    def pieces(self, count: int) -> int:
        """How many states to score at a time: all of `count` where that is little, else half the limit."""
        return max(count, 1) if count * self.vocabulary <= LIMIT else max(1, LIMIT // 2 // self.vocabulary)


def head_of(model: Any, states: Tensor, logits: Tensor) -> Head | None:
    """The head that gives `logits` [K, V] for `states` [K, D], as its model does; None where none of ours does.

    What models do behind their last product is in their code, not in their configuration, so it is tried out.
    """
    linear, config = model.get_output_embeddings(), model.config.get_text_config()
    if type(linear) is not nn.Linear:
        return None
    cap = getattr(config, "final_logit_softcapping", None)
    divisor = getattr(config, "logits_scaling", None) or 1.0  # Granite divides, Cohere multiplies
    scales = dict.fromkeys([1.0 / divisor, getattr(config, "logit_scale", None) or 1.0, 1.0])
    for found in [Head(linear, scale, cap) for scale in scales] + [Head(linear)]:
        mine, theirs = found(states), logits.to(linear.weight.dtype)
        close = 2e-2 if logits.dtype == torch.bfloat16 else 1e-4
        if mine.shape == theirs.shape and torch.allclose(
            mine, theirs, rtol=close, atol=close * float(theirs.abs().max())
        ):
            return found
    return None
