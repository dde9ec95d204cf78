import pytest

from harness.errors import HarnessError
from tests.papers.worked import advantages, approx


@pytest.mark.parametrize(("right", "weight"), enumerate([0, 0, 0.5657, 0.6753, 0.7, 0.6753, 0.5657, 0, 0]), ids=str)
def test_the_weight_of_k_of_eight(right, weight):
    rewards = [1.0] * right + [0.0] * (8 - right)
    assert advantages("s-grpo-noise", rewards) == approx(weight * advantages("grpo", rewards), abs=2e-4)


def test_without_noise_it_is_the_z_score():
    rewards = [1.0, 0.0, 0.0]
    assert advantages("s-grpo-noise(flip=0)", rewards) == approx(advantages("grpo", rewards), abs=1e-5)
    assert advantages("s-grpo-noise", [0.7]).tolist() == [0]
    with pytest.raises(HarnessError, match=r"below 0\.5"):
        advantages("s-grpo-noise(flip=0.5)", rewards)
