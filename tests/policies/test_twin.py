"""Copies of a policy, and exact divergences between policies."""

import pytest
import torch

from harness.policies.random import tiny_policy


@pytest.fixture(scope="module")
def pair():
    policy, other = tiny_policy(seed=0), tiny_policy(seed=1)
    policy.model.double()
    other.model.double()
    return policy, other


def inputs(policy):
    prompts = torch.tensor([[0, 3, 4], [5, 6, 7]])
    completions = torch.tensor([[3, 4, 5, 6], [7, 8, 9, 10]])
    mask = torch.tensor([[1.0, 1, 0, 0], [1, 0, 1, 1]], dtype=torch.float64)
    return prompts, (prompts > 0).long(), completions, mask


def test_a_copy_keeps_its_weights_and_follows(pair):
    policy, other = pair
    copy = policy.copy()
    given = inputs(policy)
    assert not any(p.requires_grad for p in copy.parameters())
    torch.testing.assert_close(copy.forward(*given).logp, policy.forward(*given).logp.detach())
    copy.follow(other)
    torch.testing.assert_close(copy.forward(*given).logp, other.forward(*given).logp.detach())
    before = [p.clone() for p in copy.parameters()]
    copy.follow(policy, 0.25)
    for own, old, new in zip(copy.parameters(), before, policy.model.parameters(), strict=True):
        torch.testing.assert_close(own, old + 0.25 * (new - old))
    assert copy.n_params == policy.n_params
    assert copy.encode("1") == policy.encode("1")


def test_kl_is_the_sum_over_the_vocabulary(pair):
    policy, other = pair
    prompts, mask_p, completions, mask = inputs(policy)
    found = policy.kl(other, prompts, mask_p, completions, mask, temperature=torch.tensor([1.0, 0.5]))
    assert found.shape == mask.shape
    assert not found[mask == 0].any()
    assert (found[mask > 0] > 0).all()
    ids = torch.cat([prompts, completions], 1)[1:]
    logits = [p.model(ids).logits[0, 2:6].detach() / 0.5 for p in (policy, other)]
    first, second = (torch.log_softmax(x, -1) for x in logits)
    torch.testing.assert_close(found[1], (first.exp() * (first - second)).sum(-1) * mask[1])
    assert not policy.kl(policy, prompts, mask_p, completions, mask).any()
