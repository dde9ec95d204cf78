"""Any transformers causal LM as a backbone: scoring whole sequences, and decoding step by step with its cache."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from harness.policies.cache import cache_argument, new_cache, parameters_of, returned_cache
from harness.policies.forward import Scored

__all__ = ["GenericBackbone", "GenericDecoder", "autocast"]


class GenericBackbone:
    """Calls the model's own forward; works for every architecture that transformers can load for generation."""

    def __init__(self, model: Any, precision: str) -> None:
        self.model = model
        self.precision = precision
        self.keeps_logits = "logits_to_keep" in parameters_of(model)
        self.head = model.get_output_embeddings()
        config = model.config.get_text_config()
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self.cache_bytes = config.num_hidden_layers * heads * head * 2 * 4  # of one token, about

    def score(
        self, prompt_ids: Tensor, prompt_mask: Tensor, completion_ids: Tensor, lengths: Tensor, *, hidden: bool = False
    ) -> Scored:
        """Logits that predict every completion token; prompts [N, P] left-padded, completions [N, T] right-padded."""
        width = prompt_ids.shape[1]
        tokens = completion_ids.shape[1]
        ids = torch.cat([prompt_ids, completion_ids[:, : max(tokens - 1, 0)]], 1)
        inside = torch.arange(ids.shape[1] - width, device=ids.device) < lengths[:, None]
        # Padding behind a completion is never looked back at: only padding before a prompt needs a mask.
        mask = torch.cat([prompt_mask.bool(), torch.ones_like(inside)], 1)
        wanted = slice(width - 1, width - 1 + max(tokens, 1))
        _, logits, seen = self.call(ids, wanted, padding_arguments(mask))
        states = seen if hidden else None
        return Scored(
            logits=logits[:, :tokens].flatten(0, 1),
            states=None if states is None else states[:, :tokens].flatten(0, 1),
            last_states=None if states is None else states[:, 0],
        )

    def call(self, ids: Tensor, wanted: slice, arguments: dict[str, Any]) -> tuple[Any, Tensor, Tensor]:
        """The model's output, its logits at the positions `wanted` of ids [B, S], and the states the head read."""
        arguments = {"use_cache": False, **arguments}
        if self.keeps_logits:
            arguments["logits_to_keep"] = torch.arange(wanted.start, wanted.stop, device=ids.device)
        with self._watched_head() as states, autocast(self.precision, ids.device):
            output = self.model(input_ids=ids, **arguments)
        cut = slice(None) if self.keeps_logits else wanted
        return output, output.logits[:, cut], states[0][:, cut]

    @contextlib.contextmanager
    def _watched_head(self) -> Iterator[list[Tensor]]:
        """Collects what goes into the head and, under bfloat16, computes its logits in float32."""
        states: list[Tensor] = []

        def watch(head: Any, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
            states.append(inputs[0])
            if output.dtype != torch.bfloat16 or type(head) is not nn.Linear:
                return output
            with torch.autocast(output.device.type, enabled=False):
                return functional.linear(inputs[0].to(head.weight.dtype), head.weight, head.bias)

        handle = self.head.register_forward_hook(watch)
        try:
            yield states
        finally:
            handle.remove()

    def decoder(self, capacity: int) -> GenericDecoder:
        """A decoder for sequences of up to `capacity` tokens."""
        return GenericDecoder(self, capacity)


class GenericDecoder:
    """Decoding step by step: `prefill` once, then `select` rows and `step` over and over."""

    def __init__(self, backbone: GenericBackbone, capacity: int) -> None:
        self.backbone = backbone
        self.cache = new_cache(backbone.model, capacity)
        self.name = cache_argument(backbone.model)
        self.mask = torch.empty(0, dtype=torch.long)
        self.length = 0
        self.padded = False

    def prefill(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Logits [B, V] after the left-padded prompts [B, P]."""
        self.length = ids.shape[1]
        self.padded = not bool(mask.all())
        self.mask = mask.long()
        return self._forward(ids, padding_arguments(mask))

    def select(self, index: Tensor) -> None:
        """Make row i of the batch what row index[i] was; rows may repeat or go."""
        self.cache.batch_select_indices(index)
        self.mask = self.mask[index]

    def step(self, tokens: Tensor) -> Tensor:
        """Logits [B, V] after one more token [B] per row."""
        self.length += 1
        if self.padded:
            self.mask = torch.cat([self.mask, self.mask.new_ones(len(tokens), 1)], 1)
            arguments = {"attention_mask": self.mask, "position_ids": self.mask.sum(1, keepdim=True) - 1}
        else:
            arguments = {"position_ids": torch.full((len(tokens), 1), self.length - 1, device=tokens.device)}
        return self._forward(tokens[:, None], arguments)

    def _forward(self, ids: Tensor, arguments: dict[str, Any]) -> Tensor:
        width = ids.shape[1]
        arguments = {"use_cache": True, self.name: self.cache, **arguments}
        output, logits, _ = self.backbone.call(ids, slice(width - 1, width), arguments)
        self.cache = returned_cache(output, self.cache)
        return logits[:, -1]


def padding_arguments(mask: Tensor) -> dict[str, Tensor]:
    """Attention mask and positions for left-padded rows; nothing where no row is padded (a faster kernel then)."""
    if bool(mask.all()):
        return {}
    return {"attention_mask": mask.long(), "position_ids": (mask.long().cumsum(1) - 1).clamp_min(0)}


def autocast(precision: str, device: torch.device) -> torch.autocast:
    """Compute in bfloat16 over float32 parameters, or as the parameters are."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bfloat16")
