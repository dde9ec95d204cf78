import math

import numpy as np
import pytest

from harness import probe

QUARTER = math.log(0.25) / 2  # two tokens of half: a completion of a quarter of its probability


def gradient(reward, stack="topr(baseline=0.0)", gap=QUARTER, **fields):
    logp = [[gap, gap]]
    more = {"logp": logp, "logp_old": [[0.0, 0.0]], "mask": [[1, 1]], "group": [0], **fields}
    return probe.objective(stack, rewards=[reward], **more)[1][0].tolist()


def test_negatives_are_tapered_by_the_whole_completion_and_positives_are_not():
    assert gradient(-1.0) == pytest.approx([0.25, 0.25])
    assert gradient(1.0) == pytest.approx([-1, -1])
    assert gradient(-1.0, "topr(baseline=0.0, level='token')") == pytest.approx([0.5, 0.5])


def test_the_taper_never_exceeds_1():
    assert gradient(-1.0, gap=3.0) == pytest.approx([1, 1])


def test_zero_reward_is_ignored_without_a_baseline_and_pushed_down_with_one():
    assert gradient(0.0) == [0, 0]
    assert gradient(0.0, "topr") == pytest.approx([0.125, 0.125])


def test_bad_is_what_the_reward_says_where_asked():
    found = gradient(0.25, "topr(split='reward')")
    assert found == pytest.approx([0.25, 0.25])
    np.testing.assert_allclose(gradient(0.25, "topr"), [0.0625, 0.0625])


def test_stale_rows_are_measured_against_what_sampled_them():
    found = gradient(-1.0, gap=0.0, logp_sampler=[[math.log(2), 0.0]], age=[2])
    assert found == pytest.approx([0.5, 0.5])
