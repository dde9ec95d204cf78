import numpy as np
import pytest
from scipy.stats import beta as beta_distribution

from harness.errors import HarnessError
from tests.papers.worked import advantages, approx

RATES = (0.25, 0.25, 0.5, 0.75)


def prompts(rates, size=4):
    rewards = [float(place < rate * size) for rate in rates for place in range(size)]
    return rewards, np.repeat(np.arange(len(rates)), size).tolist()


def test_the_fitted_density_weighs_the_prompts():
    rewards, group = prompts(RATES)
    plain = advantages("dr-grpo", rewards, group)
    weights = (advantages("bnpo", rewards, group) / plain)[::4]
    assert weights.tolist() == approx([0.84077, 0.84077, 0.77413, 0.97767], abs=1e-5)
    assert weights.tolist() == approx(1 / beta_distribution(1.48059, 1.61790).pdf(RATES), abs=1e-5)


def test_rates_at_the_ends_stay_finite_and_teach_nothing():
    rewards, group = prompts((0.0, 1.0, 0.5, 0.5, 0.5))
    got = advantages("bnpo", rewards, group)
    assert np.isfinite(got).all()
    assert not got[:8].any()
    assert got[8:].any()


def test_one_prompt_or_one_rate_weighs_one():
    assert advantages("bnpo", [1.0, 0.0]).tolist() == [0.5, -0.5]
    rewards, group = prompts((0.5, 0.5))
    assert advantages("bnpo", rewards, group) == approx(advantages("dr-grpo", rewards, group))


def test_columns_are_fitted_apart_and_the_range_is_mapped():
    rewards, group = prompts(RATES)
    both = np.stack([rewards, rewards[::-1]], 1)
    parts = [advantages("bnpo", both[:, k], group) for k in (0, 1)]
    assert advantages("bnpo", both, group) == approx((parts[0] + parts[1]) / 2)
    assert advantages("bnpo(low=-1)", 2 * both - 1, group) == approx(advantages("bnpo", both, group))
    assert advantages("bnpo", [0.7], [0]).tolist() == [0]
    with pytest.raises(HarnessError, match="below high"):
        advantages("bnpo(low=1)", rewards, group)
