import math

import pytest

from harness.errors import HarnessError
from tests.papers.worked import advantages, approx

THREE = {"lengths": [10, 50, 90], "max_tokens": 100, "correct": [True, True, True]}


def test_ranks_by_length_bin():
    got = advantages("rlrr-hybrid(slack=9, bin=0.3)", [1.0, 1.0, 1.0], **THREE)
    bonus = [0.1 * math.tanh(2), 0.1 * math.tanh(0.5), 0]
    assert bonus[:2] == approx([0.0964, 0.0462], abs=1e-4)
    assert got.tolist() == approx([b - sum(bonus) / 3 for b in bonus])
    pure = advantages("rlrr-pure(slack=9, bin=0.3)", [1.0, 1.0, 1.0], **THREE)
    assert pure.tolist() == approx([0.5, 0, -0.5])


def test_right_before_wrong_and_no_wrong_answer_gains():
    fields = {**THREE, "correct": [False, True, False]}
    assert advantages("rlrr-pure", [0.9, 0.0, 0.1], **fields).tolist() == approx([0, 0.5, -0.5])
    got = advantages("rlrr-hybrid", [0.9, 0.0, 0.1], **fields)
    assert got[1] == approx(1.0964 - 1.1426 / 3, abs=1e-4)
    # One wrong answer among two right ones: its rank is the last, and all that exceeds the bounds is cut.
    close = advantages("rlrr-pure", [1.0, 1.0, 1.0], **{**THREE, "correct": [True, True, False], "lengths": [9, 90, 9]})
    assert close.tolist() == approx([0.5, 0, -0.5])
    assert advantages("rlrr-hybrid", [1.0, 1.0], lengths=[9, 90], max_tokens=100)[1] == approx(-1e-3)


@pytest.mark.parametrize("method", ["rlrr-hybrid", "rlrr-pure"])
def test_edges(method):
    assert not advantages(method, [1.0] * 3, lengths=[10, 11, 12], max_tokens=100).any()
    assert not advantages(method, [0.0] * 3, lengths=[10, 50, 90], max_tokens=100).any()
    assert not advantages(method, [1.0], lengths=[10], max_tokens=100).any()
    assert advantages(method, [1e9, 0.2, 0.1])[0] == advantages(method, [0.9, 0.2, 0.1])[0]
    with pytest.raises(HarnessError, match="share"):
        advantages(f"{method}(bin=0)", [1.0])
