"""How a network computes: attention, torch.compile, and what cannot be asked for."""

from __future__ import annotations

import pytest
import torch

from harness.errors import UsageError
from harness.policies.backbone import Manner
from harness.policies.generic import GenericBackbone
from harness.policies.llama import LlamaBackbone
from harness.policies.policy import Policy
from harness.policies.random import tiny_policy
from harness.policies.recompute import recompute_layers
from harness.training.config import PolicyConfig
from tests.policies.networks import network, policy_of, sampled, scored


@pytest.fixture
def directory(tmp_path):
    Policy(network("llama"), tiny_policy().tokenizer).save(tmp_path)
    return str(tmp_path)


def test_an_attention_of_ones_choice_is_the_models_own(directory):
    chosen = {name: Policy.of(PolicyConfig(model=directory, attention=name)) for name in (None, "sdpa", "eager")}
    rollouts = sampled(chosen[None])
    assert isinstance(chosen[None].backbone, LlamaBackbone)
    for name in ("sdpa", "eager"):
        assert isinstance(chosen[name].backbone, GenericBackbone)
        assert chosen[name].model.config._attn_implementation == name
        assert torch.allclose(scored(chosen[name], rollouts).logp, scored(chosen[None], rollouts).logp, atol=1e-4)


def test_an_attention_that_is_not_there_is_one_line(directory):
    from harness.errors import HarnessError

    with pytest.raises(HarnessError, match=r"transformers cannot load .*: ") as caught:
        Policy.of(PolicyConfig(model=directory, attention="flash_attention_2"))
    assert "\n" not in str(caught.value)


def test_float64_does_not_go_with_eager_attention():
    model = network("gemma2")
    model.set_attn_implementation("eager")
    with pytest.raises(UsageError, match=r"policy.dtype float64: Gemma2ForCausalLM computes attention in float32"):
        Policy(model, tiny_policy().tokenizer, precision="float64")


def test_what_excludes_each_other():
    manner = Manner(gradient_checkpointing=True, compile=True)
    with pytest.raises(UsageError, match="exclude each other"):
        policy_of("llama", manner=manner)


def test_without_a_compiler_it_is_refused(monkeypatch):
    def missing():
        raise RuntimeError("no g++ here")

    monkeypatch.setattr("torch._inductor.cpp_builder.get_cpp_compiler", missing)
    with pytest.raises(UsageError, match=r"needs a C\+\+ compiler \(no g\+\+ here\); install one"):
        policy_of("llama", manner=Manner(compile=True))


def test_a_model_without_marked_layers_cannot_recompute():
    with pytest.raises(UsageError, match="Linear marks no layer for it"):
        recompute_layers(torch.nn.Linear(2, 2))


def test_layers_are_wrapped_once_and_in_copies_too():
    policy = policy_of("gemma2", manner=Manner(gradient_checkpointing=True))
    twin = policy.clone()
    rollouts = sampled(policy)
    with torch.no_grad():
        for parameter in policy.model.parameters():
            parameter.mul_(1.5)
    assert torch.allclose(scored(twin, rollouts).logp, rollouts.logp, atol=1e-4)  # the copy's layers are its own


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_compiled_it_computes_the_same_to_rounding():
    plain, fast = policy_of("llama"), policy_of("llama", manner=Manner(compile=True))
    rollouts = sampled(plain)
    one, two = scored(plain, rollouts).logp, scored(fast, rollouts).logp
    assert torch.allclose(one, two, atol=1e-4)
    one.sum().backward()
    two.sum().backward()
    for a, b in zip(plain.model.parameters(), fast.model.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-3, atol=1e-4)
