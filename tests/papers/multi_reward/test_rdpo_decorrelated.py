import numpy as np
import pytest
import torch
from harness_papers.multi_reward.rdpo_decorrelated import RDPO

from harness import Groups, probe

METHOD = "rdpo-decorrelated"


def test_a_duplicated_reward_is_damped_to_its_root():
    first, second = [1, 1, 0, 0], [1, 0, 1, 0]
    params = {"ridge": 1e-9, "spread": 0.0}
    alone = probe.advantages(METHOD, np.array([first, second]).T, [0] * 4, params=params)
    doubled = probe.advantages(METHOD, np.array([first, first, second]).T, [0] * 4, params=params)
    assert alone == pytest.approx([2, 0, 0, -2], abs=1e-5)
    assert doubled == pytest.approx([2**0.5 + 1, 2**0.5 - 1, 1 - 2**0.5, -(2**0.5) - 1], abs=1e-3)


def test_after_whitening_columns_are_uncorrelated():
    scores = torch.randn(64, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    scores[:, 1] += 2 * scores[:, 0]
    white = RDPO(ridge=1e-9)._whiten(scores, torch.ones_like(scores, dtype=torch.bool))
    assert torch.allclose(white.T @ white / 64, torch.eye(3, dtype=torch.float64), atol=1e-6)


def test_only_ranks_and_ties_count_for_the_quantiles():
    groups = Groups(torch.tensor([0, 0, 0, 1]))
    plain, stretched = (
        RDPO(spread=0.0)._quantiles(groups, torch.tensor(values, dtype=torch.float64)[:, None])
        for values in ([1, 2, 3, 9], [1, 5, 100, 9])
    )
    assert torch.equal(plain, stretched)
    assert plain[3] == 0


def test_missing_columns_and_constant_groups():
    rewards = [[1, None], [0, None], [1, 1], [1, 0]]
    found = probe.advantages(METHOD, rewards, [0, 0, 1, 1])
    assert np.isfinite(found).all()
    assert found[0] == -found[1] > 0
    assert probe.advantages(METHOD, [[1, 1], [1, 1]], [0, 0]).tolist() == [0, 0]
