import numpy as np
import pytest

from harness import probe
from harness.errors import HarnessError
from tests.papers.worked import ONE_OF_FOUR, advantages, approx


def test_losses_count_less():
    assert advantages("hpo-hysteretic", ONE_OF_FOUR).tolist() == approx([1.5, -0.3, -0.3, -0.3], abs=1e-5)
    assert advantages("hpo-hysteretic(alpha=1)", ONE_OF_FOUR) == approx(advantages("grpo", ONE_OF_FOUR))
    with pytest.raises(HarnessError, match="from 0 to 1"):
        advantages("hpo-hysteretic(alpha=2)", ONE_OF_FOUR)


def test_the_factor_follows_successes():
    rewards = [*ONE_OF_FOUR, *ONE_OF_FOUR]
    group = [0] * 4 + [1] * 4
    plain = advantages("grpo", rewards, group)
    assert advantages("a-hpo", rewards, group) == approx(np.where(plain < 0, plain / 3, plain))


@pytest.mark.parametrize(("rewards", "factor"), [([1, 1, 1, 0], 1), ([1, 1, 0, 0], 1), ([1] + [0] * 15, 0.1)])
def test_bounds(rewards, factor):
    plain = advantages("grpo", rewards)
    assert advantages("a-hpo", rewards) == approx(np.where(plain < 0, factor * plain, plain))
    assert not advantages("a-hpo", [0.5, 0.5]).any()


@pytest.mark.parametrize("method", ["a-hpo", "hpo-hysteretic"])
def test_the_mean_length_is_the_divisor(method):
    assert probe.weights(method, [[1, 1, 1], [1, 0, 0]]).sum(1).tolist() == [0.75, 0.25]
