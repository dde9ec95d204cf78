"""A lean forward for Llama-shaped networks, on the weights of the transformers module itself.

Half of a tiny model's step is what surrounds the matrix products. This path computes the same function as
`LlamaForCausalLM.forward` (a test compares logits and gradients) on packed tokens: a prompt is read once for all
completions that follow it, padding is never computed, rotary positions are one complex product (Su et al.,
arXiv 2104.09864), and only positions that predict a completion token reach the head.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from harness.policies.forward import Scored
from harness.policies.generic import autocast
from harness.policies.head import Head
from harness.policies.packing import Packing
from harness.policies.projection import is_linear
from harness.policies.recompute import again

__all__ = ["LlamaBackbone", "LlamaShape", "is_lean", "rotate", "rotations"]

ARCHITECTURES = {"LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM"}
STATIC_ROPE = {"default", "linear", "llama3", "yarn"}


def is_lean(model: Any) -> bool:
    """Whether this module is exactly what the lean forward computes: a known architecture, plain or under adapters."""
    model = network(model)
    config = model.config
    if type(model).__name__ not in ARCHITECTURES or not type(model).__module__.startswith("transformers."):
        return False
    if getattr(config, "use_sliding_window", config.model_type == "mistral") and getattr(
        config, "sliding_window", None
    ):
        return False
    if getattr(config, "layer_types", None) and set(config.layer_types) != {"full_attention"}:
        return False
    if getattr(model.model.rotary_emb, "rope_type", None) not in STATIC_ROPE or config.hidden_act != "silu":
        return False
    # Quantization, parametrizations and other adapters change the type; hooks may change anything.
    plain = all(map(is_linear, projections(model))) and type(model.lm_head) is nn.Linear
    plain = plain and type(model.model.embed_tokens) is nn.Embedding
    return plain and not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())  # noqa: SLF001


def projections(model: Any) -> list[Any]:
    """The linear layers inside the layers of a network; None for one that is missing."""
    found = []
    for layer in model.model.layers:
        found += [getattr(layer.self_attn, name, None) for name in ("q_proj", "k_proj", "v_proj", "o_proj")]
        found += [getattr(layer.mlp, name, None) for name in ("gate_proj", "up_proj", "down_proj")]
    return found


def network(model: Any) -> Any:
    """The network itself, where adapters wrap it."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


@dataclasses.dataclass(frozen=True)
class LlamaShape:
    """The numbers of a network: heads, key-value heads, head width, the norm's epsilon."""

    heads: int
    kv_heads: int
    head: int
    eps: float

    @staticmethod
    def of(model: Any) -> LlamaShape:
        config = model.config
        head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        return LlamaShape(config.num_attention_heads, config.num_key_value_heads, head, config.rms_norm_eps)


def rotations(model: Any, positions: Tensor, dtype: torch.dtype) -> Tensor:
    """Complex [..., head / 2]: the rotary factors at `positions`, as the model's own module defines them."""
    like = torch.empty(0, dtype=dtype, device=positions.device)
    cos, sin = model.model.rotary_emb(like, positions.view(1, -1))
    half = cos.shape[-1] // 2
    return torch.complex(cos[0, :, :half], sin[0, :, :half]).view(*positions.shape, half)


def rotate(x: Tensor, factors: Tensor) -> Tensor:
    """Heads x [M, H, head] with pairs interleaved, turned by factors [M, head / 2]."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * factors.unsqueeze(-2)).flatten(-2)


def interleave(weight: Tensor, head: int) -> Tensor:
    """Rows of a query or key projection [H * head, ...] so that the two halves of every head become pairs.

    Queries and keys move alike, so that their products stay what they were.
    """
    return weight.view(-1, 2, head // 2, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)


def joined(attention: Any, head: int) -> tuple[Tensor, Tensor | None]:
    """Weight and bias of the query and key projections together, heads interleaved for `rotate`."""
    weight = torch.cat([interleave(attention.q_proj.weight, head), interleave(attention.k_proj.weight, head)])
    if attention.q_proj.bias is None:
        return weight, None
    return weight, torch.cat([interleave(attention.q_proj.bias, head), interleave(attention.k_proj.bias, head)])


class LlamaBackbone:
    """Scores packed tokens with the module's own weights, and makes decoders."""

    def __init__(self, model: Any, precision: str, *, recompute: bool = False, apart: bool = False) -> None:
        """`recompute`: gradient checkpointing, a layer at a time. `apart`: as with adapters, to the last bit.

        Under adapters queries and keys are products apart; so must they be in a reference that starts as their equal.
        """
        self.model = model = network(model)
        self.apart = apart or not all(type(part) is nn.Linear for part in projections(model))
        self.precision = precision
        self.recompute = recompute
        self.shape = LlamaShape.of(model)
        bytes_per_number = 2 if precision == "bfloat16" else model.model.norm.weight.element_size()
        self.cache_bytes = 2 * model.config.num_hidden_layers * self.shape.kv_heads * self.shape.head * bytes_per_number

    def score(
        self, prompt_ids: Tensor, prompt_mask: Tensor, completion_ids: Tensor, lengths: Tensor, *, hidden: bool = False
    ) -> Scored:
        """Logits that predict every completion token; prompts [N, P] left-padded, completions [N, T] right-padded."""
        model = self.model.model
        dtype = model.norm.weight.dtype
        packing = Packing.of(prompt_ids, prompt_mask, completion_ids, lengths, dtype)
        factors = rotations(self.model, packing.positions, dtype)
        with autocast(self.precision, prompt_ids.device):
            x = model.embed_tokens(packing.ids)
            for layer in model.layers:
                if self.recompute:
                    x = again(self._layer, layer, x, factors, packing)
                else:
                    x = self._layer(layer, x, factors, packing)
        states = self._norm(x.index_select(0, packing.outputs), model.norm)
        last = self._norm(x.index_select(0, packing.last), model.norm) if hidden else None
        return Scored(
            inputs=states,
            head=Head(self.model.lm_head),
            rows=packing.rows,
            columns=packing.columns,
            states=states if hidden else None,
            last_states=last,
        )

    def _layer(self, layer: Any, x: Tensor, factors: Tensor, packing: Packing) -> Tensor:
        x = x + self._attend(layer.self_attn, self._norm(x, layer.input_layernorm), factors, packing)
        y = self._norm(x, layer.post_attention_layernorm)
        return x + layer.mlp.down_proj(functional.silu(layer.mlp.gate_proj(y)) * layer.mlp.up_proj(y))

    def _norm(self, x: Tensor, norm: Any) -> Tensor:
        return functional.rms_norm(x, (x.shape[-1],), norm.weight, self.shape.eps)

    def _attend(self, attention: Any, y: Tensor, factors: Tensor, packing: Packing) -> Tensor:
        """Self-attention of all packed tokens [M, D]: prompts among themselves, completions also over their prompt."""
        shape = self.shape
        both = self._queries_and_keys(attention, y)
        both = both.to(factors.real.dtype).view(len(y), shape.heads + shape.kv_heads, shape.head)
        q, k = rotate(both, factors).split([shape.heads, shape.kv_heads], 1)
        v = attention.v_proj(y).view(len(y), shape.kv_heads, shape.head)
        parts = [x.split([packing.split, len(y) - packing.split]) for x in (q, k, v)]
        (pq, cq), (pk, ck), (pv, cv) = parts
        pq, pk, pv = (packing.prompts.spread(x) for x in (pq, pk, pv))
        read = [packing.prompts.pack(self._sdpa(pq, pk, pv, None))]
        if packing.completions.width:
            cq, ck, cv = (packing.completions.spread(x) for x in (cq, ck, cv))
            k, v = (
                torch.cat([prompt.index_select(0, packing.prompt_of), own.to(prompt.dtype)], 1)
                for prompt, own in ((pk, ck), (pv, cv))
            )
            read.append(packing.completions.pack(self._sdpa(cq, k, v, packing.bias)))
        return attention.o_proj(torch.cat(read))

    def _queries_and_keys(self, attention: Any, y: Tensor) -> Tensor:
        """[M, (H + KV) * head], heads interleaved for `rotate`: one product with a moved weight where there is one."""
        if not self.apart:
            return functional.linear(y, *joined(attention, self.shape.head))
        both = torch.cat([attention.q_proj(y), attention.k_proj(y)], -1)
        return both.view(len(y), -1, 2, self.shape.head // 2).transpose(2, 3).reshape(both.shape)

    def _sdpa(self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
        """[B, S, H, head] queries over [B, S', KV, head], heads merged in the result; causal without a bias."""
        repeat = self.shape.heads // self.shape.kv_heads
        if repeat > 1:
            k, v = k.repeat_interleave(repeat, 2), v.repeat_interleave(repeat, 2)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        out = functional.scaled_dot_product_attention(q, k, v, attn_mask=bias, is_causal=bias is None)
        return out.transpose(1, 2).flatten(2)

    def decoder(self, capacity: int) -> Any:
        """A decoder for sequences of up to `capacity` tokens."""
        from harness.policies.llama_decoder import LlamaDecoder

        return LlamaDecoder(self.model, self.shape, self.precision, capacity)
