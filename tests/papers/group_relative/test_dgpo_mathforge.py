import numpy as np
import pytest

from harness.errors import HarnessError
from tests.papers.worked import ONE_OF_FOUR, advantages, approx

PLAIN = "dgpo-mathforge(weights=False, eps=0)"


def test_the_mean_absolute_deviation_is_the_scale():
    assert advantages(PLAIN, ONE_OF_FOUR).tolist() == approx([2, -2 / 3, -2 / 3, -2 / 3])
    assert np.abs(advantages(PLAIN, [0.3, 0.9, -0.4, 0.1])).sum() == approx(4)


def test_hard_prompts_weigh_more():
    rewards = [*ONE_OF_FOUR, 1, 1, 0, 0, 1, 1, 1, 0]
    group = np.repeat([0, 1, 2], 4).tolist()
    weights = advantages("dgpo-mathforge(eps=0)", rewards, group) / advantages(PLAIN, rewards, group)
    assert weights[::4].tolist() == approx([1.1273, 0.9948, 0.8779], abs=1e-4)


def test_groups_without_spread_leave_the_divisor():
    lengths = [1, 1, 4, 2]
    got = advantages("dgpo-mathforge(eps=0)", [1.0, 0.0, 1.0, 1.0], [0, 0, 1, 1], lengths=lengths)
    assert got.tolist() == approx([4, -4, 0, 0])


def test_a_prompt_that_is_mixed_in_another_column_only_weighs_least():
    rewards, group = [[0, 1], [0, 0], [1, 0], [0, 0]], [0, 0, 1, 1]
    got = advantages("dgpo-mathforge(eps=0)", rewards, group)
    share = 2 / (1 + np.exp([-(0.5 - 1) / 2, -(1 - 0.5) / 2]))
    assert np.abs(got[::2]).tolist() == approx(share.tolist())


def test_edges():
    assert advantages("dgpo-mathforge", [0.3] * 3).tolist() == [0] * 3
    assert advantages("dgpo-mathforge", [0.3]).tolist() == [0]
    with pytest.raises(HarnessError, match="positive"):
        advantages("dgpo-mathforge(temperature=0)", [0.3])
