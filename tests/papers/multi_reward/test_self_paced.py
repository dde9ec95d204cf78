import math
from types import SimpleNamespace

import pytest
from harness_papers.multi_reward.self_paced import SelfPaced

from harness import probe
from tests.batches import make_batch

approx = pytest.approx
NAMES = ("correct", "format")


def plugin(**ema):
    found = SelfPaced()
    found.start()
    found.ema = ema
    return found


def test_weight_moves_from_coarse_to_fine():
    assert list(plugin().weights(["a", "b"]).values()) == approx([0.954, 0.046], abs=1e-3)
    assert list(plugin(a=1.0).weights(["a", "b"]).values()) == approx([0.1145, 0.8855], abs=1e-3)


def test_format_comes_before_correctness_and_the_task_weights_take_no_part():
    found = probe.total_reward("self-paced", [[1, 0], [0, 1]], [0, 0], reward_names=NAMES, reward_weights=[5.0, 0.1])
    assert found[0] == approx([0.046, 0.954], abs=1e-3)


def test_means_run_and_missing_columns_are_left_alone():
    one = plugin(correct=0.5)
    batch = make_batch([[1, math.nan], [0, math.nan]], reward_names=NAMES)
    one.end_step(SimpleNamespace(gathered=batch))
    assert one.ema == {"correct": approx(0.5)}
    one.end_step(SimpleNamespace(gathered=make_batch([[1, 1], [1, 0]], reward_names=NAMES)))
    assert one.ema == {"correct": approx(0.525), "format": approx(0.025)}
