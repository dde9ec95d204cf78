import math

import pytest

from tests.papers.off_policy.test_mis import weights


@pytest.mark.parametrize(("ratio", "weight"), [(0.4, 0), (0.5001, 0.5001), (4.9, 4.9), (5.1, 0)])
def test_worked_examples(ratio, weight):
    assert weights("grpo(beta=0)+icepop", [[math.log(ratio)]]).item() == pytest.approx(weight)


def test_one_bad_token_does_not_take_the_others_with_it():
    assert weights("icepop", [[0.0, 3.0, 0.1]])[0] == pytest.approx([1, 0, math.exp(0.1)])
