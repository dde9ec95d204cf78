import numpy as np
import pytest

from harness.errors import HarnessError
from tests.papers.worked import ONE_OF_FOUR, advantages, approx

ENTROPY = [[0.5], [0.5], [1.0], [1.0]]
ONES = np.ones((4, 1))


@pytest.mark.parametrize("per", ["token", "sequence"])
def test_four_completions(per):
    got = advantages("egsw", ONE_OF_FOUR, entropy=ENTROPY, mask=ONES, params={"per": per})
    plain = advantages("grpo", ONE_OF_FOUR)
    assert (got.reshape(-1) / plain / 4).tolist() == approx([0.6744, 0.0913, 0.1172, 0.1172], abs=1e-4)


def test_a_large_temperature_is_the_base():
    got = advantages("egsw(temperature=1e9)", ONE_OF_FOUR, entropy=ENTROPY, mask=ONES)
    assert got.reshape(-1) == approx(advantages("grpo", ONE_OF_FOUR))


def test_a_token_competes_with_those_that_still_run():
    mask, entropy = [[1, 1], [1, 0]], [[0.3, 0.9], [0.3, 7.0]]
    got = advantages("egsw", [1.0, 0.0], mask=mask, entropy=entropy)
    alone = advantages("grpo", [1.0, 0.0])
    assert got[0, 1] == approx(alone[0])
    assert got[1, 1] == 0
    assert got[0, 0] / alone[0] + got[1, 0] / alone[1] == approx(2)
    with pytest.raises(HarnessError, match="entropy"):
        advantages("egsw", [1.0, 0.0])
