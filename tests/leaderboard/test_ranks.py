from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from harness.leaderboard import statistics as st


def board(means, seeds=8, noise=0.001, seed=0):
    return np.array(means)[:, None] + noise * np.random.default_rng(seed).standard_normal((len(means), seeds))


def test_pairwise_p_is_holm_over_all_pairs():
    scores = board([0.4, 0.41, 0.4], noise=0.02)
    found = st.pairwise_p(scores)
    raw = [st.paired_p(scores[i] - scores[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert [found[0, 1], found[0, 2], found[1, 2]] == pytest.approx(st.holm(raw).tolist())
    assert (found == found.T).all()
    assert np.diag(found).tolist() == [1, 1, 1]


def test_pairs_with_few_seeds_claim_nothing():
    scores = board([0.1, 0.5, 0.9])
    scores[0, 4:] = math.nan
    found = st.pairwise_p(scores)
    assert np.isnan(found[0, 1:]).all()
    assert found[1, 2] < 0.001
    assert st.rank_range(scores).tolist() == [[1, 3], [2, 3], [1, 2]]


def test_rank_range_of_clear_and_of_equal_methods():
    assert st.rank_range(board([0.2, 0.9, 0.5])).tolist() == [[3, 3], [1, 1], [2, 2]]
    equal = np.repeat(board([0.4]), 4, axis=0)
    assert st.rank_range(equal).tolist() == [[1, 4]] * 4


def test_rank_range_of_two_that_cannot_be_told_apart():
    scores = board([0.5, 0.5, 0.9, 0.1], seed=1)
    assert st.rank_range(scores).tolist() == [[2, 3], [2, 3], [1, 1], [4, 4]]


def test_rank_ranges_of_many_boards_at_once():
    many = np.stack([board([0.2, 0.9, 0.5]), board([0.9, 0.2, 0.5], seed=1)])
    assert st.rank_range(many).tolist() == [[[3, 3], [1, 1], [2, 2]], [[1, 1], [3, 3], [2, 2]]]


@given(hs.integers(0, 10_000), hs.integers(2, 7))
def test_mean_rank_lies_in_the_range(seed, methods):
    scores = np.random.default_rng(seed).normal(0, 1, (methods, 6)) + np.arange(methods)[:, None]
    found = st.rank_range(scores)
    order = np.argsort(np.argsort(-scores.mean(axis=1))) + 1
    assert (found[:, 0] <= order).all()
    assert (order <= found[:, 1]).all()


def test_letters_worked_by_hand():
    # best to worst: 0 differs from 2 and 3, 1 from 3
    different = np.zeros((4, 4), dtype=bool)
    for one, two in ((0, 2), (0, 3), (1, 3)):
        different[one, two] = different[two, one] = True
    assert st.letters(different) == ["a", "ab", "bc", "c"]
    turned = different[::-1, ::-1]
    assert st.letters(turned, order=[3, 2, 1, 0]) == ["c", "bc", "ab", "a"]


@given(hs.integers(0, 10_000), hs.integers(1, 9), hs.floats(0, 1))
def test_letters_are_shared_exactly_where_methods_do_not_differ(seed, count, rate):
    upper = np.triu(np.random.default_rng(seed).random((count, count)) < rate, 1)
    different = upper | upper.T
    given_letters = st.letters(different)
    split = [set(text) for text in given_letters]  # with so few methods every letter is one character
    for one in range(count):
        for two in range(count):
            if one != two:
                assert bool(split[one] & split[two]) != different[one, two]
        assert split[one]


def test_letters_of_many_methods_are_found_at_once():
    """All groups of which no two differ would be millions here."""
    scores = np.random.default_rng(5).normal(np.linspace(0, 8, 90)[:, None], 0.3, (90, 5))
    different = st.pairwise_p(scores) < 0.05
    held = [set(re.findall(r"[a-zA-Z]\d*", text)) for text in st.letters(different)]
    shared = np.array([[bool(one & two) for two in held] for one in held])
    assert (shared != different).all()
    assert len(set.union(*held)) < 2 * 90


def test_letters_of_no_methods():
    assert st.letters(np.zeros((0, 0), dtype=bool)) == []
