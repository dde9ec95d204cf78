import pytest
import torch
from harness_papers.multi_reward.verpo import VeRPO

from harness import probe
from tests.batches import make_batch

approx = pytest.approx
PASSED = torch.tensor([[1, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]], dtype=torch.float64)


def dense(passed=PASSED, group=None, **params):
    batch = make_batch([0.0] * len(passed), group).with_extras(passed=passed)
    return VeRPO(**params).dense(batch)


def test_rare_tests_weigh_more():
    found = dense(sigma=1e-3)
    assert found.tolist() == approx([0.8297, 0.2231, 0.2231, 0], abs=1e-4)
    assert (found - found.mean()).tolist() == approx([0.5107, -0.0959, -0.0959, -0.3190], abs=1e-4)
    assert dense(sigma=1e-3, normalize=True).tolist() == approx((found / 1.8297).tolist(), abs=1e-4)


def test_tests_of_one_difficulty_share_one_weight():
    twice = torch.cat([PASSED[:, :1], PASSED[:, :1]], 1)
    assert dense(twice, sigma=1e-3).tolist() == approx(dense(PASSED[:, :1], sigma=1e-3).tolist())


def test_outcome_and_tests_are_added_per_group():
    rewards, group = [1.0, 0, 0, 0, 0], [0, 0, 0, 0, 1]
    passed = [*PASSED.tolist(), [1.0, 1, 1]]
    found = probe.advantages("verpo(sigma=0.001)", rewards, group, passed=passed)
    assert found == approx([0.75 + 0.2554, -0.25 - 0.048, -0.25 - 0.048, -0.25 - 0.1595, 0], abs=1e-3)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_all_or_none_pass_every_test(value):
    assert probe.advantages("verpo", [value] * 3, [0] * 3, passed=[[value] * 2] * 3).tolist() == [0, 0, 0]


def test_columns_stand_in_where_there_are_no_tests():
    found = probe.advantages("verpo(beta=1)", [[1, 0], [1, 1]], [0, 0], correct=[False, False])
    assert found[1] == approx(-found[0])
    assert found[1] > 0
    mixed = [[1.0, 0.0], [0.0, 0.0], [None, None], [None, None]]
    found = probe.advantages("verpo", [1.0, 0.0] * 2, [0, 0, 1, 1], correct=[False] * 4, passed=mixed)
    assert (found > 0).tolist() == [True, False, True, False]
