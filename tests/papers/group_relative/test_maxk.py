from itertools import combinations
from math import comb

import numpy as np
import pytest

from harness import probe
from harness.errors import HarnessError
from tests.papers.worked import advantages, approx

REWARDS = [0.1, 0.9, -0.3, 0.4, 0.8, 0.2]


def corrected(rewards, moved, k):
    """Every subset's best times the first-order expansion of its joint ratio, for each of its members."""
    n = len(rewards)
    share = np.zeros(n)
    for subset in combinations(range(n), k):
        joint = 1 + sum(moved[i] for i in subset)
        for i in subset:
            share[i] += max(rewards[j] for j in subset) * joint
    return share / comb(n, k)


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_the_correction_is_the_expansion_over_all_subsets(k):
    """With the gradient of a REINFORCE loss: its factor of logp."""
    ratios = np.array([1.1, 0.8, 1.3, 0.9, 1.0, 1.2])
    fields = {"logp": np.log(ratios)[:, None], "logp_old": np.zeros((6, 1)), "mask": np.ones((6, 1))}
    params = {"k": k, "baseline": "none"}
    _, gradient = probe.loss("maxk", rewards=REWARDS, group=[0] * 6, params=params, **fields)
    assert -gradient[:, 0] == approx(corrected(REWARDS, ratios - 1, k))


@pytest.mark.parametrize("k", [2, 3, 6])
def test_where_the_policy_has_not_moved_it_is_pkpo(k):
    ours = advantages("maxk", REWARDS, params={"k": k})
    assert ours == approx(advantages("pkpo", REWARDS, params={"k": k}))
    raw = advantages("maxk", REWARDS, params={"k": k, "baseline": "none"})
    assert raw == approx(advantages("pkpo", REWARDS, params={"k": k, "kind": "plain"}))


def test_the_baseline_adds_nothing_on_average_for_an_older_policy():
    """Two completions of two kinds, all four draws: the expected gradient is that without a baseline."""
    old, new = np.array([0.3, 0.7]), np.array([0.5, 0.5])
    kinds = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    chance = old[kinds].prod(1)

    def expected(baseline):
        flat = kinds.ravel()
        fields = {"logp": np.log(new)[flat][:, None], "logp_old": np.log(old)[flat][:, None], "mask": np.ones((8, 1))}
        params = {"k": 2, "baseline": baseline}
        group, rewards = np.repeat(np.arange(4), 2), flat.astype(float)
        _, gradient = probe.loss("maxk", rewards=rewards, group=group, params=params, **fields)
        score = np.eye(2)[kinds] - new
        return (chance[:, None, None] * gradient.reshape(4, 2, 1) * score).sum((0, 1))

    assert expected("loo-1") == approx(expected("none"))


def test_edges():
    assert advantages("maxk(k=1)", REWARDS) == approx(advantages("rloo(beta=0)", REWARDS))
    assert not advantages("maxk", [0.3] * 4).any()
    assert not advantages("maxk", [0.3]).any()
    assert not advantages("maxk(baseline='group')", [0.3] * 4).any()
    with pytest.raises(HarnessError, match="baseline"):
        advantages("maxk(k=0)", REWARDS)
