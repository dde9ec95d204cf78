import pytest
import torch
from harness_papers.rewards.reward_ensemble import RewardEnsemble, aggregate_members

from harness import PolicyOutput, probe
from harness.errors import HarnessError
from tests.batches import make_batch

approx = pytest.approx
SCORES = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64)


@pytest.mark.parametrize(
    ("how", "population", "expected"),
    [("uncertain", False, 1.9), ("uncertain", True, 2 - 0.2 / 3), ("worst", False, 1), ("mean", False, 2)],
)
def test_aggregates_worked_by_hand(how, population, expected):
    assert float(aggregate_members(SCORES, how, 0.1, population=population)) == approx(expected)


def test_one_member_is_its_own_mean():
    assert float(aggregate_members(SCORES[:, :1], "uncertain", 0.1)) == 1


def test_the_aggregate_takes_the_place_of_the_reward():
    fields = {"ensemble": [[0.2, 0.4], [0.6, 0.6]], "params": {"how": "worst"}}
    assert probe.rewards("reward-ensemble", [1.0, 0.0], [0, 0], **fields)["ensemble_reward"] == approx([0.2, 0.6])
    assert "ensemble_reward" not in probe.rewards("reward-ensemble(warmup=1)", [1.0, 0.0], [0, 0])
    with pytest.raises(HarnessError, match="ensemble"):
        probe.rewards("reward-ensemble", [1.0, 0.0], [0, 0])


def test_members_learn_the_verdict_on_shares_of_their_own():
    plugin = RewardEnsemble(members=3, share=0.5)
    batch = make_batch([1.0, 0.0] * 32, lengths=[3] * 64)
    sees = plugin.sees(batch)
    assert (sees.double().mean(0) > 0.2).all()
    assert (sees.double().mean(0) < 0.8).all()
    assert not torch.equal(sees[:, 0], sees[:, 1])
    logits = torch.zeros(64, 3, dtype=torch.float64, requires_grad=True)
    output = PolicyOutput(logp=batch.logp_old, logp_old=batch.logp_old, mask=batch.mask, modules={"ensemble": logits})
    loss = plugin.regularize(batch, output)
    assert float(loss.detach()) == approx(0.6931, abs=1e-4)
    loss.backward()
    assert (logits.grad[~sees] == 0).all()
    assert (logits.grad[sees] < 0).tolist() == batch.correct[:, None].expand(-1, 3)[sees].tolist()
