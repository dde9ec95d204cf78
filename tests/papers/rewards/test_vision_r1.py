import math
from types import SimpleNamespace

import pytest
from harness_papers.rewards.vision_r1 import VisionR1, criteria, rates

from harness import probe

approx = pytest.approx
SUM = SimpleNamespace(data={"terms": (23, 48, -7)}, answer=64)
PLAIN = SimpleNamespace(data={}, answer="10")


def test_the_bar_rises():
    """Qualities 0.6 and 0.8, two references: precision 0.8, then 0.4."""
    assert rates([0.6, 0.8], 2, strict=False)[1] == approx((0.6 + 1) / 2)
    assert rates([0.6, 0.8], 2, strict=True)[1] == approx(0.4)


def test_items_are_matched_at_least_cost():
    assert criteria([64, 71], [71, 64], strict=True) == (1, 1)
    recall, precision = criteria([71], [71, 64], strict=True)
    assert (recall, precision) == (0.5, 1)
    assert criteria([], [1], strict=False) == (0, 0)
    assert criteria([], [], strict=False) == (1, 1)


def test_numbers_of_a_derivation_and_of_a_plain_answer():
    rate = VisionR1.rate
    assert rate(SUM, "23+48=71;71-7=64;#64", strict=True) == (1, 1, 1)
    assert rate(SUM, "23+48=71;71-7=14;#14", strict=True) == (1, 0.5, 0.5)
    assert rate(SUM, "", strict=True) == (0, 0, 0)
    assert rate(PLAIN, "#### 10", strict=True) == (1, 1, 1)
    assert rate(PLAIN, "#### 12", strict=False) == (1, 1, 1)
    assert rate(PLAIN, "#### 12", strict=True)[2] == approx(0.8)
    assert math.isnan(rate(SimpleNamespace(data={}, answer=(1, 2)), "#1", strict=False)[0])


def test_the_criteria_take_the_place_of_the_reward():
    names = ["correct", "item_format", "item_recall", "item_precision"]
    found = probe.total_reward("vision-r1", [[1, 1, 0.5, 1], [0.25, None, None, None]], [0, 0], reward_names=names)[0]
    assert found.tolist() == [2.5, 0.25]
