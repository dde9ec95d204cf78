import copy

import pytest
import torch

from harness.policies.backbone import backbone_of
from harness.policies.generic import GenericBackbone
from harness.policies.llama import LlamaBackbone, is_lean
from harness.policies.packing import Grid, Packing
from harness.policies.policy import Policy
from harness.policies.random import tiny_policy
from harness.policies.rollouts import Request
from harness.policies.sampler import Sampler


def ragged(policy, seed=0, rows=9, width=7):
    """Left-padded prompts, some shared, and completions of lengths 0 to `width`."""
    draw = torch.Generator().manual_seed(seed)
    vocab = policy.model.config.vocab_size
    lengths = torch.randint(0, width + 1, (rows,), generator=draw)
    lengths[:2] = torch.tensor([0, width])
    real = torch.randint(1, 6, (rows,), generator=draw)
    prompt_mask = torch.arange(5) >= 5 - real[:, None]
    prompt_ids = torch.randint(4, vocab, (rows, 5), generator=draw) * prompt_mask
    prompt_ids[3:6], prompt_mask[3:6] = prompt_ids[2].clone(), prompt_mask[2].clone()
    return prompt_ids, prompt_mask, torch.randint(4, vocab, (rows, width), generator=draw), lengths


def with_biases(name):
    """Other architectures that the lean forward takes, at the size of the tiny policy."""
    from transformers import AutoConfig, AutoModelForCausalLM

    base = tiny_policy()
    settings = {"vocab_size": base.model.config.vocab_size, "hidden_size": 32, "intermediate_size": 48}
    settings |= {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "eos_token_id": 2}
    settings |= {"pad_token_id": 0, "bos_token_id": 1, "max_position_embeddings": 128}
    if name == "mistral":
        settings["sliding_window"] = None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(name, **settings))
        for parameter in model.parameters():
            parameter.data.add_(0.1 * torch.randn_like(parameter))
    return Policy(model, base.tokenizer, precision="float64")


POLICIES = {
    "llama": lambda: tiny_policy(dtype="float64"),
    "llama grouped": lambda: tiny_policy(dtype="float64", heads=4, kv_heads=2),
    "llama untied": lambda: tiny_policy(dtype="float64", tie=False),
    "qwen2": lambda: with_biases("qwen2"),
    "mistral": lambda: with_biases("mistral"),
}


def outputs_and_gradients(policy, backbone, batch):
    policy.backbone = backbone
    policy.model.zero_grad()
    out = policy.forward(*batch, temperature=0.7, needs={"entropy", "hidden", "top_logits"})
    weights = torch.linspace(-1, 1, out.logp.numel(), dtype=out.logp.dtype).view_as(out.logp)
    loss = (out.logp * weights).sum() + (out.entropy * weights**2).sum() + out.hidden.square().sum()
    (loss + out.prompt_hidden.sum() + (out.top_logits.logp * weights[..., None]).sum()).backward()
    return out, {name: p.grad.clone() for name, p in policy.model.named_parameters()}


@pytest.mark.parametrize("name", POLICIES)
def test_lean_equals_transformers_in_outputs_and_gradients(name):
    # Transformers computes its norms in float32 even in a float64 model: that is the difference left.
    policy = POLICIES[name]()
    assert isinstance(policy.backbone, LlamaBackbone)
    batch = ragged(policy)
    lean, lean_grads = outputs_and_gradients(policy, policy.backbone, batch)
    own, own_grads = outputs_and_gradients(policy, GenericBackbone(policy.model, "float64"), batch)
    for field in ("logp", "entropy", "hidden", "prompt_hidden"):
        assert torch.allclose(getattr(lean, field), getattr(own, field), atol=1e-6, rtol=1e-6), field
    assert torch.allclose(lean.top_logits.logp, own.top_logits.logp, atol=1e-6)
    for parameter, grad in own_grads.items():
        scale = float(grad.abs().max()) or 1.0
        assert torch.allclose(lean_grads[parameter] / scale, grad / scale, atol=1e-6), parameter


@pytest.mark.parametrize("name", POLICIES)
def test_lean_decoding_equals_generic_decoding(name):
    policy = POLICIES[name]()
    requests = [
        Request(key=text, prompt_ids=tuple(policy.encode_prompt(text)), n=3, max_tokens=9, temperature=0.8)
        for text in ("1+1=", "12+34-5=", "a")
    ]
    lean = Sampler(policy).generate(requests, seed=1, step=0, want_entropy=True)
    policy.backbone = GenericBackbone(policy.model, policy.precision)
    own = Sampler(policy).generate(requests, seed=1, step=0, want_entropy=True)
    assert torch.equal(lean.completion_ids, own.completion_ids)
    assert torch.allclose(lean.logp, own.logp, atol=1e-6)
    assert torch.allclose(lean.entropy, own.entropy, atol=1e-6)


def test_bfloat16_stays_near_the_models_own_and_keeps_the_head_in_float32():
    policy = tiny_policy(dtype="bfloat16")
    batch = ragged(policy)
    lean = policy.forward(*batch, needs={"hidden"})
    policy.backbone = GenericBackbone(policy.model, "bfloat16")
    own = policy.forward(*batch, needs={"hidden"})
    assert lean.logp.dtype == own.logp.dtype == torch.float32
    assert torch.allclose(lean.logp, own.logp, atol=0.02)
    exact = torch.log_softmax(policy.model.lm_head(own.hidden[1].float()), -1)
    assert torch.allclose(exact.gather(1, batch[2][1][:, None])[:, 0], own.logp[1], atol=1e-5)


def test_only_the_known_network_is_taken():
    model = tiny_policy().model
    assert is_lean(model)
    hooked = copy.deepcopy(model)
    hooked.model.layers[0].mlp.up_proj.register_forward_hook(lambda *_: None)
    assert not is_lean(hooked)
    adapted = copy.deepcopy(model)
    adapted.model.layers[0].self_attn.q_proj = torch.nn.Sequential(adapted.model.layers[0].self_attn.q_proj)
    assert not is_lean(adapted)
    assert isinstance(backbone_of(adapted, "float32"), GenericBackbone)
    odd = copy.deepcopy(model)
    odd.config.hidden_act = "gelu"
    assert not is_lean(odd)


def test_packing_reads_a_shared_prompt_once():
    policy = tiny_policy()
    prompt_ids, prompt_mask, completion_ids, lengths = ragged(policy)
    packing = Packing.of(prompt_ids, prompt_mask, completion_ids, lengths, torch.float32)
    distinct = {tuple(ids[mask].tolist()) for ids, mask in zip(prompt_ids, prompt_mask, strict=True)}
    assert packing.split == sum(map(len, distinct))
    assert len(packing.ids) == packing.split + int((lengths - 1).clamp_min(0).sum())
    assert len(packing.outputs) == int(lengths.sum())


def test_grid_round_trip_and_gradient():
    lengths = torch.tensor([2, 0, 3])
    grid = Grid.of(lengths)
    packed = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
    assert torch.equal(grid.pack(grid.spread(packed)), packed)
    assert torch.autograd.gradcheck(lambda x: grid.pack(grid.spread(x) * 2), packed)
    assert Grid.of(torch.tensor([3, 3])).places is None
