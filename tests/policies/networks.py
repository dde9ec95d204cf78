"""Tiny networks of several families, with random weights, over one character tokenizer."""

from __future__ import annotations

from typing import Any

import torch

from harness.policies.policy import Policy
from harness.policies.random import tiny_policy

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": SMALL | {"num_key_value_heads": 1},
    "qwen2": SMALL | {"num_key_value_heads": 1, "tie_word_embeddings": True},  # biases, one matrix for both ends
    "qwen3": SMALL | {"num_key_value_heads": 1, "head_dim": 16},  # norms of queries and keys
    "gemma2": SMALL | {"num_key_value_heads": 1, "head_dim": 16, "sliding_window": 4},  # capped logits
    "granite": SMALL | {"num_key_value_heads": 1, "logits_scaling": 3.0},
    "gpt2": {
        "n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 128, "resid_pdrop": 0.5, "attn_pdrop": 0.5,
        "embd_pdrop": 0.5,
    },
}  # fmt: skip


def network(name: str, **changes: Any) -> Any:
    """A model of a family; its weights are large enough for logits that differ."""
    from transformers import AutoConfig, AutoModelForCausalLM

    size = tiny_policy().model.config.vocab_size
    ids = {"vocab_size": size, "eos_token_id": 2, "bos_token_id": 1, "pad_token_id": 0}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(name, **(ids | FAMILIES[name] | changes)))
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if parameter.dim() > 1 and "norm" not in key:
                parameter.mul_(4.0)
    return model


def policy_of(name: str, **options: Any) -> Policy:
    """A policy over such a network."""
    return Policy(network(name), tiny_policy().tokenizer, **options)


def sampled(policy: Policy, tokens: int = 10) -> Any:
    """Some completions of it."""
    from harness.policies.rollouts import Request
    from harness.policies.sampler import Sampler

    requests = [
        Request(key=text, prompt_ids=tuple(policy.encode_prompt(text)), n=3, max_tokens=tokens, temperature=0.7)
        for text in ("1+1=", "12+34-5=", "a")
    ]
    return Sampler(policy).generate(requests, seed=0, step=0)


def scored(policy: Any, rollouts: Any, **options: Any) -> Any:
    """What a policy says about completions."""
    return policy.forward(
        rollouts.prompt_ids, rollouts.prompt_mask, rollouts.completion_ids, rollouts.mask,
        temperature=rollouts.temperature, **options,
    )  # fmt: skip
