import pytest
import torch
from harness_papers.reward_columns import active, column, column_means, in_order, in_place, reweighted, verdict

from harness.errors import PluginError
from tests.batches import make_batch

BATCH = make_batch([[1.0, 0.5], [0.0, float("nan")]], reward_names=("correct", "steps"))


def test_the_first_column_that_is_there_is_taken():
    assert column(BATCH, ["judge", "steps", "correct"], "x").nan_to_num(-1).tolist() == [0.5, -1]
    with pytest.raises(PluginError, match="x: the tasks have no reward column 'judge' or 'style', only correct, steps"):
        column(BATCH, ["judge", "style"], "x")


def test_one_reward_in_place_of_all_others():
    only = in_place(BATCH, "mine", torch.tensor([3.0, 4.0]))
    assert only.reward.tolist() == [3, 4]
    assert active(only).tolist() == [False, False, True]
    assert only.reward_names == ("correct", "steps", "mine")
    assert verdict(only).tolist() == [1, 0]
    assert BATCH.reward.tolist() == [1.5, 0]


def test_means_order_and_weights_by_name():
    assert column_means(BATCH) == {"correct": 0.5, "steps": 0.5}
    assert column_means(make_batch([[1.0, float("nan")]])) == {"r0": 1}
    assert in_order(BATCH, ("steps", "brevity")) == ["steps", "correct"]
    assert in_order(in_place(BATCH, "mine", BATCH.reward), ("steps",)) == ["mine"]
    assert reweighted(BATCH, {"steps": 2.0}).reward_weights.tolist() == [0, 2]
    assert reweighted(BATCH, {"steps": 2.0}, relative=True).reward_weights.tolist() == [1, 2]
