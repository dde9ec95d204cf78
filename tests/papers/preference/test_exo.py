import numpy as np
import pytest

from harness.errors import HarnessError
from tests.papers.worked import ONE_OF_FOUR, group_loss


def test_the_authors_targets():
    assert group_loss("exo(target='pairs')", [1, 0], [0, 0])[0] == pytest.approx(4.306853, abs=1e-6)
    assert group_loss("exo(target='pairs')", [1, 0], [1, 0])[0] == pytest.approx(2.107211, abs=1e-6)


def test_nothing_moves_at_the_target():
    loss, slope = group_loss("exo(beta=2.0)", ONE_OF_FOUR, [0.5, 0, 0, 0])
    assert loss == pytest.approx(0)
    assert slope == pytest.approx([0] * 4)
    even = group_loss("exo(target='pairs', eps=0.5)", [1, 0], [0.3, 0.3])
    assert even[0] == pytest.approx(0)


def test_the_divergence_is_the_reverse_one():
    loss, _ = group_loss("exo", [1, 0], [0, 0])
    target = np.array([np.e, 1]) / (1 + np.e)
    assert loss == pytest.approx((0.5 * (np.log(0.5) - np.log(target))).sum())


def test_edges():
    assert group_loss("exo", [1], [0.4])[0] == pytest.approx(0)
    assert group_loss("exo(target='pairs')", [1, 1], [0.4, 0])[0] == 0
    for wrong in ("target='all'", "eps=0.0"):
        with pytest.raises(HarnessError, match="exo"):
            group_loss(f"exo({wrong})", [1], [0])


def test_a_completion_without_a_reward_that_went_far_off_breaks_nothing():
    two, three = (group_loss("exo", [1, 0, None][:n], [0.2, 0.0, 900.0][:n]) for n in (2, 3))
    assert three[0] == pytest.approx(two[0])
    assert three[1] == pytest.approx([*two[1], 0])
