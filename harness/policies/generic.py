"""Any transformers causal LM as a backbone: scoring whole sequences, and decoding step by step with its cache."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from harness.errors import UsageError
from harness.policies.cache import cache_argument, new_cache, parameters_of, returned_cache
from harness.policies.forward import Scored
from harness.policies.head import Head, head_of
from harness.policies.recompute import recompute_layers

__all__ = ["GenericBackbone", "GenericDecoder", "autocast"]


class GenericBackbone:
    """Calls the model's own forward; works for every architecture that transformers can load for generation.

    Where the model's head is one of ours, only the network below it is called, and logits are computed from its states
    in pieces; elsewhere the model's own logits are taken, all at once.
    """

    def __init__(self, model: Any, precision: str, *, recompute: bool = False, compiled: bool = False) -> None:
        """`recompute`: gradient checkpointing. `compiled`: passes over whole rows go through torch.compile."""
        self.model = model
        self.precision = precision
        self.device = next(model.parameters()).device
        inner = model.get_base_model() if hasattr(model, "get_base_model") else model  # of an adapter's wrapper
        self.takes = parameters_of(model)
        self.keeps_logits = "logits_to_keep" in self.takes
        self.output = model.get_output_embeddings()
        self.cache_bytes = cache_bytes(model, 4)
        if precision == "float64" and getattr(inner.config, "_attn_implementation", None) == "eager":
            raise UsageError(
                f"policy.dtype float64: {type(inner).__name__} computes attention in float32, where the mask of "
                "padding is minus infinity; use float32, or set policy.attention to sdpa if the model has it"
            )
        if recompute:
            recompute_layers(inner)
        self.body: Any = None
        self.head = self._found_head(inner)
        self.run = self.body
        if compiled:
            if self.head is None:
                raise UsageError(f"policy.compile does not know the head of {type(inner).__name__}; set it to false")
            self.run = torch.compile(self.body, dynamic=True)

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
        _, states, logits = self.call(ids, wanted, padding_arguments(mask), self.run)
        return Scored(
            inputs=states[:, :tokens].flatten(0, 1),
            head=self.head,
            given=None if logits is None else logits[:, :tokens].flatten(0, 1),
            states=states[:, :tokens].flatten(0, 1) if hidden else None,
            last_states=states[:, 0] if hidden else None,
        )

    def call(
        self, ids: Tensor, wanted: slice, arguments: dict[str, Any], body: Any = None
    ) -> tuple[Any, Tensor, Tensor | None]:
        """The output for ids [B, S], the states the head reads at the positions `wanted`, and the model's own logits.

        The logits are None where our head computes them.
        """
        known = {"use_cache": False, **{name: value for name, value in arguments.items() if name in self.takes}}
        if self.head is not None:
            with autocast(self.precision, ids.device):
                output = (self.body if body is None else body)(input_ids=ids, **known)
            return output, output[0][:, wanted], None
        if self.keeps_logits:
            known["logits_to_keep"] = torch.arange(wanted.start, wanted.stop, device=ids.device)
        with self._watched_head() as states, autocast(self.precision, ids.device):
            output = self.model(input_ids=ids, **known)
        cut = slice(None) if self.keeps_logits else wanted
        return output, states[0][:, cut], output.logits[:, cut]

    @torch.no_grad()
    def _found_head(self, inner: Any) -> Head | None:
        """Our head, if from the states of the network below it come the model's own logits: tried on three tokens."""
        body = getattr(inner, inner.base_model_prefix, None)
        if body is None or body is inner:
            return None
        ids = torch.arange(3, device=self.device)[None]
        known = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "use_cache": False}
        with self._watched_head(as_it_is=True) as read, autocast(self.precision, ids.device):
            logits, states = self.model(**known).logits, body(**known)[0]
        if not read or not torch.equal(read[0], states):
            return None
        self.body = body
        return head_of(inner, states[0], logits[0])

    @contextlib.contextmanager
    def _watched_head(self, *, as_it_is: bool = False) -> Iterator[list[Tensor]]:
        """Collects what goes into the head and, under bfloat16, computes its logits in float32."""
        states: list[Tensor] = []

        def watch(head: Any, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
            states.append(inputs[0])
            if as_it_is or output.dtype != torch.bfloat16 or type(head) is not nn.Linear:
                return output
            with torch.autocast(output.device.type, enabled=False):
                return functional.linear(inputs[0].to(head.weight.dtype), head.weight, head.bias)

        handle = self.output.register_forward_hook(watch)
        try:
            yield states
        finally:
            handle.remove()

    def decoder(self, capacity: int) -> GenericDecoder:
        """A decoder for sequences of up to `capacity` tokens."""
        return GenericDecoder(self, capacity)


def cache_bytes(model: Any, number: int) -> int:
    """Keys and values of one token, at `number` bytes each. UsageError for a network without any."""
    config = model.config.get_text_config()
    try:
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        return int(config.num_hidden_layers * heads * head * 2 * number)
    except AttributeError:
        raise UsageError(
            f"policy.model: {type(model).__name__} has no attention heads that keep keys and values; "
            "give a causal language model made of attention layers"
        ) from None


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
        backbone = self.backbone
        output, states, logits = backbone.call(ids, slice(width - 1, width), arguments)
        self.cache = returned_cache(output, self.cache)
        if logits is not None:
            return logits[:, -1]
        assert backbone.head is not None
        return backbone.head(states[:, -1])


def padding_arguments(mask: Tensor) -> dict[str, Tensor]:
    """Attention mask and positions for left-padded rows; nothing where no row is padded (a faster kernel then)."""
    if bool(mask.all()):
        return {}
    return {"attention_mask": mask.long(), "position_ids": (mask.long().cumsum(1) - 1).clamp_min(0)}


def autocast(precision: str, device: torch.device) -> torch.autocast:
    """Compute in bfloat16 over float32 parameters, or as the parameters are."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bfloat16")
