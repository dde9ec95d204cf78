import numpy as np
import pytest
import torch
from harness_papers.group_relative.riskpo import RiskPO

from harness.errors import HarnessError
from tests.batches import make_batch
from tests.papers.worked import approx


def plugin(quantiles=(), **params):
    made = RiskPO(**{"scale": False, **params})
    made.start()
    made.quantiles = list(quantiles)
    return made


def test_the_measure_is_flat_above_the_upper_quantile():
    got = plugin([1.0, 4.0])._measure(torch.arange(6, dtype=torch.float64))
    assert got.tolist() == approx([-3, 0, 2 / 3, 4 / 3, 2, 2])
    natural = plugin([1.0, 4.0], natural=True)._measure(torch.arange(6, dtype=torch.float64))
    assert natural.tolist() == approx((got - 5 / 2.5).tolist())


def test_credit_within_a_paper():
    rewards, group = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0], [0, 0, 0, 1, 1, 1]
    batch = make_batch(rewards, group, rollout=torch.tensor([0, 1, 2, 0, 1, 2]))
    got = plugin([0.5, 2.0], bundle=2).estimate_advantages(batch).numpy()
    measure = np.array([0.5, -1.5 * 0.5 / 0.2 * 0.6, 1.5]) / 0.6 * [1, 1, 1] / 2.5
    # Papers score 1, 0, 2; distances 1/3, -2/3, 1/3 and -1/3, -1/3, 2/3: the first paper's sum to nothing.
    assert got[[0, 3]].tolist() == approx([measure[0] / 2] * 2)
    assert got[[1, 4]].tolist() == approx([measure[1] * 2 / 3, measure[1] / 3])
    assert got[[2, 5]].tolist() == approx([measure[2] / 3, measure[2] * 2 / 3])
    uniform = plugin([0.5, 2.0], bundle=2, credit="uniform").estimate_advantages(batch)
    assert uniform[[2, 5]].tolist() == approx([measure[2]] * 2)


def test_a_bundle_of_one_gets_the_measure_and_quantiles_move():
    made = plugin([0.0, 1.0], bundle=1)
    batch = make_batch([1.0, 0.0, 0.5])
    assert made.estimate_advantages(batch).tolist() == approx([1 / 1.5, 0, 0.5 / 1.5])
    assert made.quantiles == approx([0.0 + 0.1 * 0.2, 1.0 + 0.1 * (0.8 - 2 / 3)])


def test_the_first_batch_gives_the_quantiles_and_the_bundle_the_scale():
    made = plugin(scale=True, bundle=1, low=0.25, high=0.75)
    got = made.estimate_advantages(make_batch([0.0, 1.0, 2.0, 3.0, 4.0]))
    assert made.quantiles == approx([1.0, 3.0])
    measure = np.array([-1.5 / 0.25, 0, 2, 4, 4]) / 2.5
    assert got.tolist() == approx((measure / (2.5**0.5 + 1e-6)).tolist())
    std = plugin([1.0, 3.0], credit="std", bundle=1).estimate_advantages(make_batch([1.0, 2.0, 3.0]))
    assert std[2] == approx(2 / 0.6 / 2.5 / (1 + 1e-6))


def test_papers_without_spread_teach_nothing():
    made = plugin(scale=True)
    assert not made.estimate_advantages(make_batch([0.3] * 6, [0, 0, 0, 1, 1, 1])).any()
    with pytest.raises(HarnessError, match="low < high"):
        RiskPO(low=0.9)
