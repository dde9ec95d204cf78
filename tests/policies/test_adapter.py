"""Policies whose adapter trains and whose other weights are frozen and shared."""

from __future__ import annotations

import json

import pytest
import torch

from harness.errors import UsageError
from harness.policies.adapter import adapted
from harness.policies.backbone import backbone_of
from harness.policies.generic import GenericBackbone
from harness.policies.llama import LlamaBackbone
from harness.policies.policy import Policy
from harness.policies.random import tiny_policy
from harness.training.config import LoraConfig, PolicyConfig
from tests.policies.networks import FAMILIES, network, sampled, scored

pytest.importorskip("peft", reason="LoRA needs the extra policy-harness[lora]")

LORA = LoraConfig(rank=4, alpha=8)


def lora_policy(name="llama", *, moved=True, lora=LORA, **options):
    policy = Policy(adapted(network(name), lora), tiny_policy().tokenizer, **options)
    if moved:
        draw = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for parameter in policy.weights().values():
                parameter.add_(0.2 * torch.randn(parameter.shape, generator=draw).to(parameter))
    return policy


def storages(model):
    return {p.data_ptr() for p in model.parameters()}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_new_adapter_changes_nothing_and_only_it_trains(name):
    policy, plain = lora_policy(name, moved=False), Policy(network(name), tiny_policy().tokenizer)
    rollouts = sampled(policy)
    assert torch.allclose(scored(policy, rollouts).logp, scored(plain, rollouts).logp, atol=1e-5)
    assert all("lora_" in name for name in policy.weights())
    scored(policy, rollouts).logp.sum().backward()
    assert {n for n, p in policy.model.named_parameters() if p.grad is not None} == set(policy.weights())


@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_sampled_is_what_is_scored(name):
    policy = lora_policy(name)
    rollouts = sampled(policy)
    assert torch.allclose(scored(policy, rollouts).logp, rollouts.logp, atol=1e-4)


TARGETS = {"all": "all-linear", "some": ("k_proj", "v_proj", "down_proj")}


@pytest.mark.parametrize("targets", TARGETS)
@pytest.mark.parametrize("name", ["llama", "qwen2"])
def test_the_lean_forward_computes_what_the_model_under_its_adapter_does(name, targets):
    lora = LORA.model_copy(update={"targets": TARGETS[targets]})
    policy = lora_policy(name, lora=lora, precision="float64")
    assert isinstance(policy.backbone, LlamaBackbone)
    rollouts, found = sampled(policy), []
    for backbone in (policy.backbone, GenericBackbone(policy.model, "float64")):
        policy.backbone = backbone
        policy.model.zero_grad()
        logp = scored(policy, rollouts).logp
        (logp * torch.linspace(-1, 1, logp.numel(), dtype=logp.dtype).view_as(logp)).sum().backward()
        grads = {key: p.grad.clone() for key, p in policy.model.named_parameters() if p.requires_grad}
        found.append((logp.detach(), grads, sampled(policy)))
    (lean, lean_grads, drawn), (own, own_grads, again) = found
    assert torch.allclose(lean, own, atol=1e-6)
    assert torch.equal(drawn.completion_ids, again.completion_ids)
    assert set(lean_grads) == set(own_grads) == set(policy.weights())
    for key, grad in own_grads.items():
        scale = float(grad.abs().max()) or 1.0
        assert torch.allclose(lean_grads[key] / scale, grad / scale, atol=1e-5), key


def test_an_adapter_of_another_kind_takes_the_models_own_forward():
    peft = pytest.importorskip("peft")
    for options in ({"use_dora": True}, {"lora_dropout": 0.1}):
        model = peft.get_peft_model(network("llama"), peft.LoraConfig(target_modules="all-linear", **options))
        assert isinstance(backbone_of(model, "float32"), GenericBackbone)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_reference_is_the_adapter_switched_off_in_no_new_memory(precision):
    fresh = lora_policy(moved=False, precision=precision)
    rollouts = sampled(fresh)
    assert torch.equal(scored(fresh.initial(), rollouts).logp, scored(fresh, rollouts).logp)
    policy = lora_policy(precision=precision)
    reference = policy.initial()
    assert storages(reference.model) <= storages(policy.model)
    assert not torch.allclose(scored(reference, rollouts).logp, scored(policy, rollouts).logp, atol=1e-2)
    assert torch.equal(scored(reference, rollouts).logp, scored(fresh, rollouts).logp)
    assert not scored(reference, rollouts).logp.requires_grad
    assert scored(policy, rollouts).logp.requires_grad


def test_copies_own_their_adapter_and_nothing_else():
    policy = lora_policy()
    rollouts, copy = sampled(policy), policy.copy()
    own = sum(p.numel() for p in policy.weights().values())
    assert sum(p.numel() for p in copy.parameters()) == own == sum(x.numel() for x in copy.state_dict().values())
    assert copy.n_params == policy.n_params
    assert len(storages(copy._policy[0].model) - storages(policy.model)) == len(policy.weights())
    before = scored(policy, rollouts).logp.detach()
    with torch.no_grad():
        for parameter in policy.weights().values():
            parameter.mul_(2)
    assert torch.equal(scored(copy, rollouts).logp, before)
    copy.follow(policy, 0.25)
    for mine, theirs in zip(copy.adapter, policy.weights().values(), strict=True):
        torch.testing.assert_close(mine, 0.625 * theirs)
    copy.follow(policy)
    assert torch.equal(scored(copy, rollouts).logp, scored(policy, rollouts).logp)
    other = lora_policy(moved=False).copy()
    other.load_state_dict(copy.state_dict())
    assert torch.equal(scored(other, rollouts).logp, scored(policy, rollouts).logp)


def test_frozen_matrices_in_bfloat16_change_no_number():
    """Products round them to bfloat16 anyway; embeddings, norms, head and adapter stay float32."""
    light = lora_policy(precision="bfloat16")
    heavy = lora_policy(precision="bfloat16")
    for parameter in heavy.model.parameters():
        parameter.data = parameter.data.float()
    rollouts = sampled(light)
    assert torch.equal(scored(light, rollouts).logp, scored(heavy, rollouts).logp)
    kinds = {name: p.dtype for name, p in light.model.named_parameters()}
    assert {kinds[name] for name in kinds if ".base_layer." in name} == {torch.bfloat16}
    assert {kinds[name] for name in kinds if ".base_layer." not in name} == {torch.float32}


def test_rank_stabilised_scale():
    plain, stable = (adapted(network("llama"), LORA.model_copy(update={"rslora": r})) for r in (False, True))
    scales = [next(m.scaling["default"] for m in x.modules() if hasattr(m, "lora_A")) for x in (plain, stable)]
    assert scales == [8 / 4, 8 / 4**0.5]


@pytest.mark.parametrize("name", ["llama", "qwen2", "gpt2"])
def test_saved_whole_it_is_a_plain_model_with_the_sum(tmp_path, name):
    policy = lora_policy(name)
    policy.save(tmp_path)
    rollouts, loaded = sampled(policy), Policy.load(tmp_path)
    assert not loaded.adapted
    assert type(loaded.model) is type(network(name))
    assert torch.allclose(scored(loaded, rollouts).logp, scored(policy, rollouts).logp, atol=1e-4)
    assert not (tmp_path / "adapter_config.json").exists()


def test_saved_alone_it_is_small_and_names_what_it_is_for(tmp_path):
    Policy(network("llama"), tiny_policy().tokenizer).save(tmp_path / "base")
    policy = lora_policy()
    policy.save_adapter(tmp_path / "adapter", base=str(tmp_path / "base"))
    found = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())
    assert (found["base_model_name_or_path"], found["r"]) == (str(tmp_path / "base"), 4)
    whole, small = (sum(f.stat().st_size for f in (tmp_path / d).glob("*.safetensors")) for d in ("base", "adapter"))
    assert small < whole / 2
    rollouts, loaded = sampled(policy), Policy.load(tmp_path / "adapter")
    assert torch.allclose(scored(loaded, rollouts).logp, scored(policy, rollouts).logp, atol=1e-4)
    with pytest.raises(UsageError, match="no adapter"):
        loaded.save_adapter(tmp_path / "other")


def test_settings_give_the_same_adapter_every_time(tmp_path):
    Policy(network("llama"), tiny_policy().tokenizer).save(tmp_path)
    settings = PolicyConfig(model=str(tmp_path), lora=LORA, dtype="bfloat16")
    torch.manual_seed(1)
    one = Policy.of(settings)
    torch.manual_seed(2)
    two = Policy.of(settings)
    assert one.adapted
    assert one.digest() == two.digest() != Policy.of(settings.model_copy(update={"lora": None})).digest()
    assert one.base_digest() == two.base_digest()
    assert one.base_digest() != Policy.of(settings.model_copy(update={"dtype": "float32"})).base_digest()


def test_targets_are_named():
    named = adapted(network("llama"), LoraConfig(targets=("q_proj", "v_proj")))
    assert {n.split(".")[-4] for n, p in named.named_parameters() if p.requires_grad} == {"q_proj", "v_proj"}
    with pytest.raises(UsageError, match=r"no layer 'q_pro'. Did you mean 'q_proj'"):
        adapted(network("llama"), LoraConfig(targets=("q_pro",)))
    for targets, message in {
        "(": "missing",
        "nothing": "not found",
        ("lm_head",): "the head computes in float32",
    }.items():
        with pytest.raises(UsageError, match=rf"policy\.lora\.targets.*{message}") as raised:
            adapted(network("llama"), LoraConfig(targets=targets))
        assert "\n" not in str(raised.value)


def test_dropout_is_refused():
    with pytest.raises(ValueError, match="must be 0: sampling, old log-probabilities and gradients see one"):
        LoraConfig(dropout=0.1)
