"""Binomials, and means of the best over subsets, against the definitions."""

from itertools import combinations
from math import comb

import pytest
import torch

from harness import Groups
from harness.mathematics import best_without, choose, subset_best


def test_binomials_are_exact_and_zero_where_there_are_none():
    n = torch.arange(-2, 33)
    for k in (-1, 0, 1, 7, 16):
        expected = [float(comb(int(x), k)) if 0 <= k <= x else 0.0 for x in n]
        assert choose(n, k).tolist() == expected
    assert float(choose(128, 64)) == pytest.approx(comb(128, 64), rel=1e-12)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_best_of_subsets_in_groups_of_their_own_size(k):
    noise = torch.Generator().manual_seed(k)
    x = torch.rand(11, generator=noise, dtype=torch.float64).round(decimals=1)
    keys = torch.tensor([0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1])
    groups = Groups(keys)
    share, rest = (f(groups, x, torch.full_like(keys, k)) for f in (subset_best, best_without))
    for i in range(11):
        members = [j for j in range(11) if keys[j] == keys[i]]
        sets = [subset for subset in combinations(members, k) if i in subset]
        best = sum(max(float(x[j]) for j in subset) for subset in sets) / comb(len(members), k)
        assert float(share[i]) == pytest.approx(best)
        others = [subset for subset in combinations(members, k) if i not in subset]
        mean = sum(max(float(x[j]) for j in subset) for subset in others) / len(others)
        assert float(rest[i]) == pytest.approx(mean)


def test_no_rows():
    empty = torch.zeros(0)
    assert subset_best(Groups(empty.long()), empty, empty.long()).shape == (0,)
