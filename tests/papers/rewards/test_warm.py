import pytest
import torch
from harness_papers.rewards.warm import WARM, AveragedHeads

from harness import PolicyOutput, probe
from harness.errors import HarnessError
from tests.batches import make_batch

approx = pytest.approx


def heads(members=3):
    return AveragedHeads(4, members, 5, torch.Generator().manual_seed(0))


def scores(module, batch):
    hidden = torch.randn(*batch.mask.shape, 4, generator=torch.Generator().manual_seed(1))
    return module(batch, hidden)


def test_members_start_equal_and_their_mean_is_they():
    found = scores(heads(), make_batch([1.0, 0.0, 0.0]))
    assert found.shape == (3, 4)
    assert torch.allclose(found, found[:, :1].expand_as(found), atol=1e-6)


def test_the_mean_of_weights_is_near_the_mean_of_predictions_for_close_members():
    module, batch = heads(), make_batch([1.0, 0.0, 0.0])
    noise = torch.Generator().manual_seed(2)
    gaps = []
    for size in (0.1, 0.2):
        moved = heads()
        with torch.no_grad():
            for parameter in moved.parameters():
                parameter.add_(size * torch.randn(parameter.shape, generator=noise.manual_seed(3)))
        found = scores(moved, batch)
        gaps.append((found[:, -1] - found[:, :-1].mean(1)).abs().max().item())
    assert 2.5 < gaps[1] / gaps[0] < 6  # of second order
    assert sum(p.numel() for p in module.parameters()) == 3 * (20 + 5 + 5 + 1)


def test_the_mean_model_rewards_and_only_members_learn():
    found = probe.rewards("warm", [0.0], [0], averaged=[[2.0, 4.0, 0.0]])["averaged_reward"]
    assert found == approx([0.5])
    other = probe.rewards("warm(of='predictions')", [0.0], [0], averaged=[[2.0, -2.0, 9.0]])["averaged_reward"]
    assert other == approx([0.5])
    with pytest.raises(HarnessError, match="averaged"):
        probe.rewards("warm", [1.0], [0])


def test_every_member_learns_from_a_share_of_its_own():
    module, batch = heads(2), make_batch([1.0, 0.0] * 8, lengths=[2] * 16)
    found = scores(module, batch)
    found.retain_grad()
    output = PolicyOutput(logp=batch.logp_old, logp_old=batch.logp_old, mask=batch.mask, modules={"averaged": found})
    WARM(members=2).regularize(batch, output).backward()
    assert (found.grad[:, -1] == 0).all()
    assert not torch.equal(module.second.grad[0], module.second.grad[1])
