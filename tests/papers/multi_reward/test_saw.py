import pytest
import torch
from harness_papers.multi_reward.saw import SAW

from harness import Batch
from tests.batches import make_batch


def weights(batch: Batch, **params) -> list[float]:
    wrapper = SAW(**params).shape_rewards()
    next(wrapper)
    with pytest.raises(StopIteration) as stopped:
        wrapper.send(batch)
    return stopped.value.value.reward_weights.tolist()


def test_equal_variation_changes_nothing():
    assert weights(make_batch([[1, 0.1], [0, 0], [1, 0.1], [0, 0]])) == pytest.approx([1, 1])


def test_weights_follow_the_coefficient_of_variation():
    columns = [[1.0, 3.0], [0.0, 1.0]]  # cv 1.4142 and 0.7071
    assert weights(make_batch(columns)) == pytest.approx([4 / 3, 2 / 3])
    halved = make_batch(columns, reward_weights=torch.tensor([0.5, 1.0], dtype=torch.float64))
    assert weights(halved) == pytest.approx([2 / 3, 2 / 3])


def test_a_constant_column_counts_nothing_and_one_without_weight_is_not_counted():
    assert weights(make_batch([[1, 2], [0, 2]])) == pytest.approx([2, 0])
    off = torch.tensor([1.0, 0.0], dtype=torch.float64)
    assert weights(make_batch([[1, 2], [0, 3]], reward_weights=off)) == pytest.approx([1, 0])
    assert weights(make_batch([[2, 2], [2, 2]])) == pytest.approx([0, 0])


def test_an_offset_calms_a_column_around_zero():
    columns = [[3.0, 1.0], [-2.9, 0.0]]
    assert weights(make_batch(columns))[0] > 1.9
    assert weights(make_batch(columns), offset=3.0, offset_columns=("r0",))[0] < 1.1
