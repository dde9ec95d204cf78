import numpy as np
import pytest

from harness import probe
from harness.errors import HarnessError
from tests.papers.worked import group_loss

CORRECT = [1, 1, 0, 0]
MOVED = [-1.0, -2.0, -0.5, -3.0]


def test_right_completions_rise_and_likely_wrong_ones_fall_most():
    loss, slope = group_loss("disco(tau=1.0)", CORRECT, MOVED)
    wrong = np.exp(MOVED[2:]) / np.exp(MOVED[2:]).sum()
    assert loss == pytest.approx(1.5 + np.log(np.exp(MOVED[2:]).mean()))
    assert slope == pytest.approx([-0.5, -0.5, *wrong])


def test_a_hot_maximum_is_the_mean():
    hot, mean = (group_loss(f"disco({x})", CORRECT, MOVED)[0] for x in ("tau=1e6", "negatives='mean'"))
    assert hot == pytest.approx(mean, abs=1e-5)
    assert mean == pytest.approx(-1.75 + 1.5)


def test_prompts_of_one_kind_stay_in_the_number():
    alone, beside = (
        group_loss("disco", CORRECT + more, MOVED + more, [0] * 4 + [1] * len(more)) for more in ([], [1, 1])
    )
    assert beside[0] == pytest.approx(alone[0] / 2)
    assert not beside[1][4:].any()


def test_the_hinge_wakes_beyond_the_limit():
    fields = {"logp": [[-0.4, -0.2]], "logp_old": [[-0.2, -0.2]], "mask": [[1, 1]]}
    assert probe.regularizer("disco(beta=10.0, delta=0.2)", **fields)[0] == 0
    value, slope = probe.regularizer("disco(beta=10.0, delta=0.05)", **fields)
    assert value == pytest.approx(10 * 0.05 * 0.1)
    assert slope == pytest.approx(np.array([[-0.25, -0.25]]))
    with pytest.raises(HarnessError, match="kl"):
        probe.regularizer("disco(kl='k2')", **fields)
