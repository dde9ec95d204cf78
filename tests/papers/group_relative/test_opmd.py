import math

import pytest

from harness import probe
from harness.errors import HarnessError
from tests.papers.worked import advantages, approx


def test_the_soft_value_lies_above_the_mean():
    got = advantages("opmd(baseline='logavgexp')", [1.0, 0.0])
    value = math.log((math.e + 1) / 2)
    assert got.tolist() == approx([1 - value, -value])
    assert advantages("opmd", [1.0, 0.0]).tolist() == [0.5, -0.5]
    assert advantages("opmd(baseline='logavgexp', tau=1e6)", [1.0, 0.0]).tolist() == approx([0.5, -0.5], abs=1e-5)


def test_a_small_temperature_does_not_overflow():
    assert advantages("opmd(baseline='logavgexp', tau=1e-4)", [1.0, 0.0])[0] == approx(0, abs=1e-4)


def test_edges_and_the_damped_loss():
    assert advantages("opmd(baseline='logavgexp')", [0.3] * 3).tolist() == approx([0] * 3, abs=1e-15)
    assert advantages("opmd", [0.3]).tolist() == [0]
    _, gradient = probe.token_loss("opmd(tau=3)", logp=[[-1.0]], logp_old=[[-3.0]], advantages=[2.0], mask=[[1]])
    assert gradient.tolist() == [[-0.5]]
    with pytest.raises(HarnessError, match="tau"):
        advantages("opmd(tau=0)", [1.0])
