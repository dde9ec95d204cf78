import numpy as np
import pytest
import torch
from harness_papers.group_relative.subpo import SubPO

from harness.errors import HarnessError
from tests.batches import make_batch
from tests.papers.worked import advantages, approx

REWARDS, ANSWERS = [1.0, 0.4, 0.9, 0.9, 0.0], [7, 7, 8, 8, 9]


def gains(order, rewards=REWARDS, answers=ANSWERS, rollout=None):
    fields = {} if rollout is None else {"rollout": torch.tensor(rollout)}
    batch = make_batch(rewards, **fields).with_extras(answers=torch.tensor(answers))
    return SubPO(order=order)._gain(batch).numpy()


def test_the_first_of_equals_gains():
    assert gains("rollout", [1.0, 1.0, 1.0], [1, 1, 2]).tolist() == [1, 0, 1]
    assert gains("rollout", [1.0, 1.0, 1.0], [1, 1, 2], rollout=[5, 3, 4]).tolist() == [0, 1, 1]
    assert gains("rollout", [0.4, 1.0], [1, 1]).tolist() == approx([0.4, 0.6])


def test_shapley_shares_what_an_answer_is_worth():
    assert gains("shapley").tolist() == approx([0.2 + 0.6, 0.2, 0.45, 0.45, 0])


def test_shapley_is_the_mean_over_orders():
    noise = np.random.default_rng(0)
    orders = [noise.permutation(5) for _ in range(400)]
    mean = np.mean([gains("rollout", rollout=order.tolist()) for order in orders], axis=0)
    assert mean == approx(gains("shapley"), abs=0.06)


@pytest.mark.parametrize("order", ["shapley", "rollout"])
def test_gains_sum_to_what_all_have_found(order):
    assert gains(order).sum() == approx(1.0 + 0.9)
    assert advantages("subpo", REWARDS, answers=ANSWERS).sum() == approx(0, abs=1e-12)
    assert not advantages("subpo", [0.3, 0.3], answers=[1, 2]).any()
    with pytest.raises(HarnessError, match="shapley"):
        advantages("subpo(order='best')", [1.0])
