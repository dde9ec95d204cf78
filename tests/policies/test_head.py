"""Logits: float32 whatever computes below them, and never too many at a time."""

from __future__ import annotations

import pytest
import torch

from harness.policies import head
from harness.policies.generic import GenericBackbone
from tests.policies.networks import FAMILIES, network, policy_of, sampled, scored

NEEDS = {"entropy", "top_logits", "hidden"}


@pytest.mark.parametrize("name", FAMILIES)
def test_our_head_is_the_models(name):
    model = network(name).eval()
    backbone = GenericBackbone(model, "float32")
    assert backbone.head is not None
    ids = torch.arange(3, 12)[None]
    _, states, none = backbone.call(ids, slice(0, 9), {})
    assert none is None
    assert torch.allclose(backbone.head(states), model(ids).logits, atol=1e-5)


def test_a_head_that_is_not_ours_is_left_to_the_model():
    model = network("llama")
    whole = model.forward
    model.forward = lambda *args, **options: bent(whole(*args, **options))
    backbone = GenericBackbone(model, "float32")
    assert backbone.head is None
    ids = torch.arange(3, 12)[None]
    assert torch.equal(backbone.call(ids, slice(0, 9), {})[2], model(ids).logits)


def bent(output):
    output.logits = output.logits.square()
    return output


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt2"])
@pytest.mark.parametrize("needs", [set(), NEEDS], ids=["logp", "all"])
def test_pieces_give_the_numbers_and_gradients_of_the_whole(monkeypatch, name, needs):
    """Both the packed rows of the lean forward and the grid of the others."""
    policy = policy_of(name)
    rollouts = sampled(policy)
    rollouts = rollouts.replace(mask=rollouts.mask * (torch.arange(10) != 3))  # a hole, and rows of several lengths
    found = []
    for limit in (2**26, 12 * policy.model.config.vocab_size):
        monkeypatch.setattr(head, "LIMIT", limit)
        policy.model.zero_grad()
        out = scored(policy, rollouts, needs=needs)
        value = out.logp.sum()
        if needs:
            value = value + out.entropy.square().sum() + out.top_logits.logp[..., 1].sum() + out.hidden.mean()
        value.backward()
        numbers = [out.logp, out.entropy, out.hidden, out.top_logits.logp, out.top_logits.ids] if needs else [out.logp]
        found.append([*(x.detach() for x in numbers), *(p.grad.clone() for p in policy.model.parameters())])
    for whole, pieces in zip(*found, strict=True):
        torch.testing.assert_close(pieces, whole, rtol=1e-3, atol=1e-5)


def test_divergences_in_pieces(monkeypatch):
    one, two = policy_of("llama"), policy_of("llama")
    with torch.no_grad():
        two.model.lm_head.weight.mul_(1.1)
    rollouts = sampled(one)
    given = rollouts.prompt_ids, rollouts.prompt_mask, rollouts.completion_ids, rollouts.mask
    whole = one.kl(two, *given)
    monkeypatch.setattr(head, "LIMIT", 12 * one.model.config.vocab_size)
    torch.testing.assert_close(one.kl(two, *given), whole)
    assert whole.sum() > 0


def test_pieces_are_a_matter_of_shapes_alone():
    vocabulary = torch.nn.Linear(4, 150_000, bias=False, device="meta")
    assert head.Head(vocabulary).pieces(400) == 400
    assert head.Head(vocabulary).pieces(500) == 2**25 // 150_000
    assert head.Head(vocabulary).pieces(0) == 1


def test_bfloat16_logits_are_computed_in_float32():
    policy = policy_of("gemma2", precision="bfloat16")
    rollouts = sampled(policy)
    assert scored(policy, rollouts).logp.dtype == rollouts.logp.dtype == torch.float32
    # as bfloat16 has three digits, logits that passed through it would all have at most 8 significant bits
    _, states, _ = policy.backbone.call(rollouts.prompt_ids, slice(0, 2), {})
    logits = policy.backbone.head(states)
    assert logits.dtype == torch.float32
    assert not torch.equal(logits, logits.bfloat16().float())
