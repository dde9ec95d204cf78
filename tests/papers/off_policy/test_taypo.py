import numpy as np
import pytest

from harness import probe

FIELDS = {"logp_old": [[0.0, 0.0, 0.0]], "advantages": [[1.0, 1.0, 5.0]], "mask": [[1, 1, 0]]}
RATIO = np.array([[1.1, 1.2, 3.0]])


def total(second, ratio=RATIO):
    loss, gradient = probe.token_loss(f"taypo-2(second={second})", logp=np.log(ratio), **FIELDS)
    return loss.sum(), gradient


def test_both_orders():
    assert total(0.0)[0] == pytest.approx(-0.3)
    assert total(1.0)[0] == pytest.approx(-0.32)
    assert total(2.0)[0] == pytest.approx(-0.34)


def test_the_first_update_is_reinforce():
    _, gradient = total(1.0, np.ones((1, 3)))
    assert gradient == pytest.approx(np.array([[-1.0, -1.0, 0.0]]))


def test_a_completion_is_one_action():
    assert probe.weights("taypo-2", [[1, 1, 0], [1, 0, 0]]) == pytest.approx(np.array([[0.5, 0.5, 0], [0.5, 0, 0]]))
