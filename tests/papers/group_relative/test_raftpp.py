import numpy as np

from harness import probe
from tests.papers.worked import advantages, approx


def test_only_the_rewarded_is_reinforced():
    assert advantages("raftpp", [1.0, -1.0, -1.0, 1.0]).tolist() == [1, 0, 0, 1]
    assert advantages("raftpp", [1.0, 0.0]).tolist() == [1, 0]
    assert not advantages("raftpp", [-1.0, -1.0]).any()


def test_ratios_are_clipped_and_rejected_tokens_stay_in_the_divisor():
    fields = {"group": [0, 0], "mask": [[1, 1], [1, 1]], "logp_old": np.zeros((2, 2)), "rewards": [1.0, -1.0]}
    value, gradient = probe.loss("raftpp", logp=np.log([[1.5, 1.1], [2.0, 2.0]]), **fields)
    assert value == approx(-(1.2 + 1.1) / 4)
    assert gradient.tolist() == [approx([0, -1.1 / 4]), [0, 0]]
