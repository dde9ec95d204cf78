from types import SimpleNamespace

import pytest
import torch
from harness_papers.group_relative.mupo import MUPO

from harness.errors import HarnessError
from tests.batches import make_batch
from tests.papers.worked import approx

IDS = torch.tensor([[1, 2], [1, 2], [8, 9], [8, 9], [8, 9], [5, 5]])


def batch(rewards, ids=IDS):
    made = make_batch(rewards, lengths=[2] * len(ids))
    return made.replace(completion_ids=ids)


def estimate(rewards, progress=0.0, **params):
    made = batch(rewards)
    found = MUPO(**params).estimate_advantages(made, SimpleNamespace(progress=progress))
    return found, made


def test_one_cluster_without_bonus_is_the_base():
    rewards = [1.0, 0.0, 0.0, 0.5, 0.0, 1.0]
    got, made = estimate(rewards, clusters=1, high=0.0, low=0.0)
    assert got.tolist() == approx(made.groups.standardize(made.reward).tolist())
    assert made.extras["cluster_weight"].tolist() == [1] * 6


def test_scores_within_clusters_and_the_weights_of_clusters():
    got, made = estimate([1.0, 0.0, 1.0, 0.0, 0.0, 0.0], clusters=3, least=1, high=0.0, low=0.0)
    assert got.tolist() == approx([0.5**0.5, -(0.5**0.5), 2 / 3**0.5, -1 / 3**0.5, -1 / 3**0.5, 0], abs=1e-5)
    # Clusters of 2, 3 and 1 of 6 have w = N / (K n) = 1, 2/3 and 2, which their members share equally.
    shares = MUPO().aggregate(made).sum(1)
    assert shares.tolist() == approx([1 / 2, 1 / 2, 2 / 9, 2 / 9, 2 / 9, 2])
    _, flat = estimate([1.0, 0.0, 1.0, 0.0, 0.0, 0.0], clusters=3, least=1, beta=0.0)
    assert MUPO().aggregate(flat).sum(1).tolist() == approx([1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3, 1])


def test_prompts_are_averaged():
    made = batch([1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0], torch.cat([IDS, IDS[:2]]))
    made = made.replace(prompt=torch.tensor([0] * 6 + [1] * 2), group_keys=torch.tensor([0] * 6 + [1] * 2))
    MUPO(clusters=1).estimate_advantages(made, SimpleNamespace(progress=0.0))
    assert MUPO().aggregate(made).sum(1).tolist() == approx([1 / 8] * 8)


def test_small_clusters_join_others_and_distance_is_rewarded():
    _, made = estimate([1.0, 0.0, 1.0, 0.0, 0.0, 0.0], clusters=3, least=2)
    assert len(set(made.extras["cluster_weight"].tolist())) == 1
    got, _ = estimate([1.0, 1.0, 1.0, 1.0, 0.0, 0.0], clusters=3, least=1)
    late, _ = estimate([1.0, 1.0, 1.0, 1.0, 0.0, 0.0], progress=1.0, clusters=3, least=1)
    # Bonuses are equal within a cluster of equal answers, and cancel where all are right.
    assert got[:2].tolist() == [0, 0]
    assert got[2] > 0 > got[4]
    assert late[2] == approx(float(got[2]), abs=1e-4)
    with pytest.raises(HarnessError, match="positive"):
        MUPO(clusters=0)
