import numpy as np
import pytest

from harness import probe
from harness.errors import HarnessError
from tests.papers.worked import ONE_OF_FOUR, advantages, approx

EQUAL = np.ones((4, 2))
UNEQUAL = [[1, 1, 1], [1, 0, 0], [1, 0, 0], [1, 0, 0]]


def test_with_equal_lengths_the_ratio_of_advantages_is_that_of_distances():
    got = advantages("reinforce-pp-baseline", ONE_OF_FOUR, mask=EQUAL)
    assert got[0, 0] == approx(-3 * got[1, 0])
    assert got[0, 0] == approx(0.75 / np.std(np.repeat([0.75, -0.25, -0.25, -0.25], 2), ddof=1))


def test_long_answers_count_more():
    got = advantages("reinforce-pp-baseline", ONE_OF_FOUR, mask=UNEQUAL)
    assert (got * UNEQUAL).sum() == approx(0, abs=1e-9)
    assert got[0, 0] != approx(-3 * got[1, 0], rel=0.1)


def test_a_unanimous_group_is_whitened_with_the_others():
    got = advantages(
        "reinforce-pp-baseline", [*ONE_OF_FOUR, 1.0, 1.0], [0, 0, 0, 0, 1, 1], mask=[*UNEQUAL, *UNEQUAL[2:]]
    )
    assert got[4, 0] == approx(got[5, 0])
    assert got[4, 0] != 0


def test_a_kl_inside_the_advantage():
    fields = {"mask": [[1, 1], [1, 1]], "logp_old": [[-1.0, -1.0]] * 2, "logp_ref": [[-1.5, -1.5], [-1.0, -1.0]]}
    summed = advantages("reinforce-pp-baseline(beta=1)", [1.0, 0.0], **fields)
    own = advantages("reinforce-pp-baseline(beta=1, returns=False)", [1.0, 0.0], **fields)
    # Gains 0.5 - 1.0, 0.5 - 0.5 and -0.5 twice; without sums 0 twice and -0.5 twice.
    assert summed[0, 0] == approx(summed[1, 0])
    assert own[0, 0] == approx(own[0, 1])
    with pytest.raises(HarnessError, match="logp_ref"):
        advantages("reinforce-pp-baseline(beta=1)", [1.0, 0.0], mask=[[1], [1]])


def test_the_loss_has_a_k2_penalty_and_averages_tokens():
    value, _ = probe.regularizer("reinforce-pp-baseline", logp=[[1.0, 0.0]], logp_ref=[[0.0, 0.0]], mask=[[1, 1]])
    assert value == approx(0.001 * 0.5 / 2)


def test_a_group_of_one_is_a_choice():
    with pytest.raises(HarnessError, match="'zero'"):
        advantages("reinforce-pp-baseline(single='one')", [1.0])
