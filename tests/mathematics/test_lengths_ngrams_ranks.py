"""Worked examples of the pieces that reward shaping is made of."""

import pytest
import torch

from harness import Groups
from harness.mathematics import (
    cosine_between,
    dense_rank,
    hypervolume,
    mean_rank,
    ngram_embedding,
    relative_brevity,
    repeated_share,
    soft_overlong,
)

GROUPS = Groups(torch.tensor([0, 0, 0, 0, 1, 1]))
NAN = float("nan")


def test_soft_overlong_is_continuous_and_floored_unless_told():
    lengths = torch.tensor([80, 81, 90, 100, 101])
    assert soft_overlong(lengths, 100, 20).tolist() == pytest.approx([0, -0.05, -0.5, -1, -1])
    assert soft_overlong(lengths, 100, 20, floor=False)[-1] == pytest.approx(-1.05)
    assert soft_overlong(lengths, 100, 0).tolist() == [0] * 5


def test_relative_brevity_is_within_the_group():
    lengths = torch.tensor([100, 300, 200, 300, 7, 7])
    assert relative_brevity(GROUPS, lengths).tolist() == [0.5, -0.5, 0, -0.5, 0, 0]


def test_half_a_cosine():
    share = torch.tensor([0, 0.5, 1, 2])
    assert cosine_between(share, 2.0, 1.0).tolist() == pytest.approx([2, 1.5, 1, 1])


def test_repeated_n_grams():
    ids = torch.tensor([[5, 5, 5, 5], [1, 2, 3, 4], [1, 1, 0, 0], [1, 0, 0, 0]])
    assert repeated_share(ids, torch.tensor([4, 4, 2, 1]), 2).tolist() == pytest.approx([2 / 3, 0, 0, 0])
    assert repeated_share(ids, torch.tensor([4, 4, 2, 1]), 9).tolist() == [0] * 4


def test_embeddings_see_what_is_there_and_nothing_behind_it():
    ids = torch.tensor([[1, 2, 3, 0], [1, 2, 3, 9], [7, 8, 7, 8], [0, 0, 0, 0]])
    vectors = ngram_embedding(ids, torch.tensor([3, 3, 4, 0]))
    assert torch.equal(vectors[0], vectors[1])
    assert vectors.norm(dim=1).tolist() == pytest.approx([1, 1, 1, 0])
    assert 0 <= float(vectors[0] @ vectors[2]) < 0.5


def test_ranks_with_ties_and_missing_values():
    x = torch.tensor([0.3, 0.1, 0.3, NAN, 2, 2])
    assert mean_rank(GROUPS, x).nan_to_num(-1).tolist() == [1.5, 0, 1.5, -1, 0.5, 0.5]
    assert dense_rank(GROUPS, x).nan_to_num(-1).tolist() == [1, 0, 1, -1, 0, 0]
    columns = torch.stack([x, -x], 1)
    assert torch.equal(mean_rank(GROUPS, columns)[:, 0].nan_to_num(), mean_rank(GROUPS, x).nan_to_num())
    assert dense_rank(GROUPS, columns)[:3, 1].tolist() == [0, 1, 0]


def test_dominated_volume():
    assert hypervolume([(1, 2), (2, 1)], (0, 0)) == 3
    assert hypervolume([(1, 1, 1), (2, 0.5, 0.5), (0.5, 0.5, 0.5)], (0, 0, 0)) == 1.25
    assert hypervolume([(1, -1)], (0, 0)) == 0
