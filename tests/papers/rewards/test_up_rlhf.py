import pytest
import torch
from harness_papers.rewards.up_rlhf import UPRLHF, DiverseHeads

from harness import PolicyOutput, probe
from harness.errors import HarnessError
from tests.batches import make_batch

approx = pytest.approx


def certain(scores, **params):
    rewards = [0.0] * len(scores)
    return probe.rewards("up-rlhf", rewards, [0] * len(scores), diverse=scores, params=params)["certain_reward"]


def test_mean_less_deviation():
    assert certain([[1.0, 3.0], [2.0, 2.0]]) == approx([1, 2])
    assert certain([[1.0, 3.0]], lam=0.0) == approx([2])
    assert certain([[0.7]]) == approx([0.7])
    assert certain([[6.0, 8.0]]) - certain([[1.0, 3.0]]) == approx(5)
    with pytest.raises(HarnessError, match="diverse"):
        probe.rewards("up-rlhf", [1.0], [0])


def test_the_norm_of_the_weights_travels_with_the_scores():
    head, batch = DiverseHeads(3, 2, torch.Generator().manual_seed(0)), make_batch([1.0, 0.0])
    with torch.no_grad():
        head.linear.weight.copy_(torch.tensor([[3.0, 0, 0], [0, 4.0, 0]]))
    found = head(batch, torch.zeros(*batch.mask.shape, 3))
    assert found[:, -1].tolist() == approx([7, 7])


def test_members_become_more_diverse():
    head, plugin = DiverseHeads(3, 2, torch.Generator().manual_seed(0)), UPRLHF(members=2, diversity=0.5, share=0.0)
    batch = make_batch([1.0, 0.0])
    found = head(batch, torch.ones(*batch.mask.shape, 3))
    output = PolicyOutput(logp=batch.logp_old, logp_old=batch.logp_old, mask=batch.mask, modules={"diverse": found})
    loss = plugin.regularize(batch, output)
    assert float(loss.detach()) == approx(-0.5 * float(found[0, -1].detach()), rel=1e-5)
    loss.backward()
    assert float((head.linear.weight.detach() * head.linear.weight.grad).sum()) < 0
