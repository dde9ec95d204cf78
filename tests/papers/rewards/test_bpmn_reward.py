import pytest

from harness import probe
from harness.errors import HarnessError

approx = pytest.approx
NAMES = ["format", "pragmatic", "semantic"]


def quality(rewards, **params):
    fields = {"reward_names": NAMES, "params": params}
    return probe.rewards("bpmn-reward", rewards, [0] * len(rewards), **fields)["model_quality"]


def test_the_mean_if_valid_and_a_value_if_not():
    rows = [[0.9, 0.6, 0.3], [0, 0.6, 0.3], [0.8, 0.4, None]]
    assert quality(rows) == approx([0.6, 0, 0.6])
    assert quality(rows, invalid=-1.0) == approx([0.6, -1, 0.6])


def test_a_text_whose_validity_is_not_asked_is_no_invalid_one():
    assert quality([[None, 0.6, 0.3], [None, None, None]], invalid=-1.0) == approx([0.45, -1])


def test_a_target_weighs_more():
    assert quality([[0.9, 0.6, 0.3]], target="semantic") == approx([2.1 / 4])


def test_validity_needs_a_column():
    with pytest.raises(HarnessError, match="no reward column 'format' or 'quality'"):
        probe.rewards("bpmn-reward", [1.0], [0])
