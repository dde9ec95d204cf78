import pytest
import torch

from harness.policies import cache as module
from harness.policies.cache import GrowingLayer, cache_argument, new_cache, returned_cache
from harness.policies.generic import GenericBackbone
from harness.policies.policy import Policy
from harness.policies.random import tiny_policy
from harness.policies.rollouts import Request
from harness.policies.sampler import Sampler

OTHERS = {
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 128},  # learned positions
    "gemma2": {  # capped logits, every other layer looks back 4 tokens only
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16,
        "intermediate_size": 64, "sliding_window": 4,
    },
}  # fmt: skip


def policy_of(name):
    from transformers import AutoConfig, AutoModelForCausalLM

    base = tiny_policy()
    ids = {"vocab_size": base.model.config.vocab_size, "eos_token_id": 2, "bos_token_id": 1, "pad_token_id": 0}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(name, **ids, **OTHERS[name]))
    return Policy(model, base.tokenizer)


@pytest.mark.parametrize("name", OTHERS)
def test_any_architecture_samples_what_it_scores(name):
    policy = policy_of(name)
    assert isinstance(policy.backbone, GenericBackbone)
    requests = [
        Request(key=text, prompt_ids=tuple(policy.encode_prompt(text)), n=3, max_tokens=10, temperature=0.6)
        for text in ("1+1=", "12+34-5=", "a")
    ]
    rollouts = Sampler(policy).generate(requests, seed=0, step=0)
    out = policy.forward(
        rollouts.prompt_ids, rollouts.prompt_mask, rollouts.completion_ids, rollouts.mask,
        temperature=rollouts.temperature, needs={"hidden"},
    )  # fmt: skip
    assert torch.allclose(out.logp, rollouts.logp, atol=1e-4)
    assert out.hidden.shape == (9, 10, 32)
    alone = Sampler(policy).generate(requests[:1], seed=0, step=0)
    assert alone.texts == rollouts.texts[:3]


class Old:
    def forward(self, input_ids, past_key_values=None):
        """As transformers named it."""


class New:
    def forward(self, input_ids, cache=None):
        """As transformers names it."""


class Hidden:
    def forward(self, *args, **kwargs):
        """Wrapped: nothing to see."""


class Wrapper(Hidden):
    def get_base_model(self):
        return New()


def test_the_cache_argument_has_either_name():
    assert [cache_argument(kind()) for kind in (Old, New, Hidden)] == ["past_key_values", "cache", "past_key_values"]
    assert cache_argument(Wrapper()) == "cache"
    assert returned_cache({"cache": 1}, 0) == 1
    assert returned_cache({"past_key_values": 2, "cache": None}, 0) == 2
    assert returned_cache({}, 3) == 3


def test_growing_layer_equals_a_growing_tensor(monkeypatch):
    monkeypatch.setattr(module, "GROWTH", 4)
    layer, keys, values = GrowingLayer(100), [], []
    draw = torch.Generator().manual_seed(0)
    for width in (3, 1, 1, 6, 1):
        keys.append(torch.randn(2, 2, width, 3, generator=draw))
        values.append(torch.randn(2, 2, width, 3, generator=draw))
        assert layer.get_mask_sizes(width) == layer.get_mask_sizes(torch.arange(width))
        k, v = layer.update(keys[-1], values[-1])
        assert torch.equal(k, torch.cat(keys, 2))
        assert torch.equal(v, torch.cat(values, 2))
    layer.batch_select_indices(torch.tensor([1, 1, 0]))
    assert torch.equal(layer.keys[:, :, : layer.get_seq_length()], torch.cat(keys, 2)[[1, 1, 0]])
    assert layer.get_seq_length() == 12


def test_special_layers_keep_their_own_cache():
    cache = new_cache(policy_of("gemma2").model, 32)
    assert sum(type(layer) is GrowingLayer for layer in cache.layers) == 1
    assert len(cache.layers) == 2
