from itertools import combinations
from math import comb

import numpy as np
import pytest

from harness.errors import HarnessError
from tests.papers.worked import ONE_OF_FOUR, advantages, approx


def by_subsets(rewards, k, kind):
    """The definition, over every subset."""
    n = len(rewards)

    def share(members):
        total = dict.fromkeys(members, 0.0)
        for subset in combinations(members, k):
            for i in subset:
                total[i] += max(rewards[j] for j in subset) / comb(len(members), k)
        return total

    everyone = share(range(n))
    if kind == "plain":
        return [everyone[i] for i in range(n)]
    if kind == "loo":
        others = [sum(share([j for j in range(n) if j != i]).values()) / (n - 1) for i in range(n)]
        return [everyone[i] - others[i] for i in range(n)]
    return [
        sum(
            max(rewards[j] for j in subset) - max(rewards[j] for j in subset if j != i)
            for subset in combinations(range(n), k)
            if i in subset
        )
        / comb(n, k)
        for i in range(n)
    ]


def pkpo(rewards, k, kind, group=None):
    return advantages("pkpo", rewards, group, params={"k": k, "kind": kind, "times_group": False})


@pytest.mark.parametrize(
    ("kind", "rewards", "expected"),
    [
        ("plain", ONE_OF_FOUR, [0.5, 1 / 6, 1 / 6, 1 / 6]),
        ("loo", ONE_OF_FOUR, [0.5, -0.2778, -0.2778, -0.2778]),
        ("loo-1", ONE_OF_FOUR, [0.5, 0, 0, 0]),
        ("plain", [1, 1, 0, 0], [0.5, 0.5, 1 / 3, 1 / 3]),
        ("loo", [1, 1, 0, 0], [0.0556, 0.0556, -0.3333, -0.3333]),
        ("loo-1", [1, 1, 0, 0], [0.3333, 0.3333, 0, 0]),
        ("loo-1", [1, 0.5, 0, 0], [0.4167, 0.1667, 0, 0]),
    ],
)
def test_pairs_of_four(kind, rewards, expected):
    assert pkpo(rewards, 2, kind).tolist() == approx(expected, abs=1e-4)


@pytest.mark.parametrize("kind", ["plain", "loo", "loo-1"])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_closed_form_is_the_sum_over_subsets(kind, k):
    rewards = np.random.default_rng(3).normal(size=7).round(1).tolist()
    assert pkpo(rewards, k, kind).tolist() == approx(by_subsets(rewards, k, kind))


def test_groups_of_their_own_size_and_edges():
    rewards, group = [1, 0.2, 0.4, 0.9, 0.1, 0.3, 0.7, 0.5], [0, 1, 0, 1, 1, 0, 1, 2]
    got = pkpo(rewards, 3, "loo-1", group)
    for g in (0, 1):
        rows = [i for i, x in enumerate(group) if x == g]
        assert got[rows].tolist() == approx(by_subsets([rewards[i] for i in rows], 3, "loo-1"))
    assert got[7] == 0
    assert pkpo([0.3] * 5, 2, "loo").tolist() == approx([0.3 * 2 * (1 / 5 - 1 / 4)] * 5)
    assert not pkpo([0.0] * 5, 2, "loo").any()
    assert pkpo([0.3] * 5, 2, "loo-1").tolist() == [0] * 5
    assert pkpo([0.3] * 4, 2, "plain").tolist() == approx([0.15] * 4)
    assert pkpo(ONE_OF_FOUR, 1, "loo-1") == approx(advantages("rloo(beta=0)", ONE_OF_FOUR) / 4)
    assert advantages("pkpo(k=2)", ONE_OF_FOUR).tolist() == approx([2, 0, 0, 0])
    with pytest.raises(HarnessError, match="pkpo"):
        advantages("pkpo(k=0)", ONE_OF_FOUR)
