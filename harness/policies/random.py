"""Small policies with random weights, for tests, probes and benchmarks."""

from __future__ import annotations

from harness.policies.chars import SPECIAL, char_tokenizer
from harness.policies.policy import Policy

__all__ = ["CHARACTERS", "llama_policy", "tiny_policy"]

CHARACTERS = "0123456789+-*/=()., ?!:;#\nabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def llama_policy(
    *,
    layers: int = 4,
    width: int = 128,
    heads: int = 4,
    kv_heads: int | None = None,
    intermediate: int | None = None,
    characters: str = CHARACTERS,
    context: int = 512,
    seed: int = 0,
    dtype: str = "float32",
    device: str = "cpu",
    tie: bool = True,
) -> Policy:
    """A Llama-architecture policy over `characters` with weights drawn from `seed`; no other random state moves."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = char_tokenizer(characters)
    config = LlamaConfig(
        vocab_size=len(SPECIAL) + len(dict.fromkeys(characters)),
        hidden_size=width,
        intermediate_size=intermediate or 4 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads or heads,
        max_position_embeddings=context,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        tie_word_embeddings=tie,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    return Policy(model, tokenizer, precision=dtype, device=device)


def tiny_policy(seed: int = 0, dtype: str = "float32", **options: int | str | bool) -> Policy:
    """Two layers of width 32: what most tests use. `options` are those of `llama_policy`."""
    settings: dict[str, object] = {"layers": 2, "width": 32, "heads": 2, "intermediate": 64, **options}
    return llama_policy(seed=seed, dtype=dtype, **settings)  # type: ignore[arg-type]
