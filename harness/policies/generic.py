"""Any transformers causal LM as a backbone: scoring whole sequences, and decoding step by step with its cache."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor

from harness.policies.cache import cache_argument, new_cache, returned_cache, select_rows
from harness.policies.forward import Scored

__all__ = ["GenericBackbone", "GenericDecoder"]


class GenericBackbone:
    """Calls the model's own forward; works for every architecture that transformers can load for generation."""

    def __init__(self, model: Any, precision: str) -> None:
        self.model = model
        self.precision = precision
        self.keeps_logits = "logits_to_keep" in inspect.signature(model.forward).parameters

    def score(
        self, prompt_ids: Tensor, prompt_mask: Tensor, completion_ids: Tensor, lengths: Tensor, *, hidden: bool = False
    ) -> Scored:
        """Logits that predict every completion token; prompts [N, P] left-padded, completions [N, T] right-padded."""
        rows, width = prompt_ids.shape
        tokens = completion_ids.shape[1]
        ids = torch.cat([prompt_ids, completion_ids[:, : max(tokens - 1, 0)]], 1)
        mask = prompt_mask.bool()
        inside = torch.arange(ids.shape[1] - width, device=ids.device) < lengths[:, None]
        mask = torch.cat([mask, inside], 1)
        logits, states = self._call(ids, mask, slice(width - 1, width - 1 + max(tokens, 1)), hidden)
        return Scored(
            logits=logits[:, :tokens].reshape(rows * tokens, -1),
            states=None if states is None else states[:, :tokens].reshape(rows * tokens, -1),
            last_states=None if states is None else states[:, 0],
        )

    def _call(self, ids: Tensor, mask: Tensor, wanted: slice, hidden: bool) -> tuple[Tensor, Tensor | None]:
        captured: list[Tensor] = []
        arguments: dict[str, Any] = {"input_ids": ids, "use_cache": False, **padding_arguments(mask)}
        if self.keeps_logits:
            arguments["logits_to_keep"] = torch.arange(wanted.start, wanted.stop, device=ids.device)
        handle = None
        if hidden:
            head = self.model.get_output_embeddings()
            handle = head.register_forward_pre_hook(lambda _module, inputs: captured.append(inputs[0]))
        try:
            with autocast(self.precision, ids.device):
                logits = self.model(**arguments).logits
        finally:
            if handle is not None:
                handle.remove()
        if not self.keeps_logits:
            logits = logits[:, wanted]
            captured = [state[:, wanted] for state in captured]
        return logits, captured[0] if captured else None

    def decoder(self, capacity: int) -> GenericDecoder:
        """A decoder for sequences of up to `capacity` tokens."""
        return GenericDecoder(self.model, self.precision, capacity)


class GenericDecoder:
    """Decoding step by step: `prefill` once, then `select` rows and `step` over and over."""

    def __init__(self, model: Any, precision: str, capacity: int) -> None:
        self.model = model
        self.precision = precision
        self.cache = new_cache(model, capacity)
        self.name = cache_argument(model)
        self.mask = torch.empty(0)
        self.length = 0
        self.padded = False
        self.keeps_logits = "logits_to_keep" in inspect.signature(model.forward).parameters

    def prefill(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Logits [B, V] after the left-padded prompts [B, P]."""
        self.padded = not bool(mask.all())
        self.mask, self.length = mask, ids.shape[1]
        return self._forward(ids, padding_arguments(mask))

    def select(self, index: Tensor) -> None:
        """Make row i of the batch what row index[i] was; rows may repeat or go."""
        self.cache = select_rows(self.cache, index)
        self.mask = self.mask[index]

    def step(self, tokens: Tensor) -> Tensor:
        """Logits [B, V] after one more token [B] per row."""
        arguments: dict[str, Any] = {}
        self.length += 1
        if self.padded:
            self.mask = torch.cat([self.mask, self.mask.new_ones(len(tokens), 1)], 1)
            arguments = {"attention_mask": self.mask.long(), "position_ids": self.mask.sum(1, keepdim=True) - 1}
        else:
            arguments = {"position_ids": torch.full((len(tokens), 1), self.length - 1, device=tokens.device)}
        return self._forward(tokens[:, None], arguments)

    def _forward(self, ids: Tensor, arguments: dict[str, Any]) -> Tensor:
        if self.keeps_logits:
            arguments["logits_to_keep"] = 1
        with autocast(self.precision, ids.device):
            out = self.model(input_ids=ids, use_cache=True, **arguments, **{self.name: self.cache})
        self.cache = returned_cache(out, self.cache)
        return out.logits[:, -1]


def padding_arguments(mask: Tensor) -> dict[str, Tensor]:
    """Attention mask and positions for left-padded rows; nothing where no row is padded (a faster kernel then)."""
    if bool(mask.all()):
        return {}
    return {"attention_mask": mask.long(), "position_ids": (mask.long().cumsum(1) - 1).clamp_min(0)}


def autocast(precision: str, device: torch.device) -> torch.autocast:
    """Compute in bfloat16 over float32 parameters, or as the parameters are."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bfloat16")
