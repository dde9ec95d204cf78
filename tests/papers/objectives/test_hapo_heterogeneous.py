import math

import numpy as np
import pytest
import torch
from harness_papers.objectives.hapo_heterogeneous import relative_entropy

from harness import probe

ENTROPY = torch.tensor([[1.0, math.e, math.e**3, math.e**-2]], dtype=torch.float64)
ON = torch.ones_like(ENTROPY)


def loss(stack, ratio, advantage=1.0, entropy=ENTROPY):
    fields = {"logp": [[math.log(ratio)] * 4], "logp_old": [[0.0] * 4], "entropy": entropy.numpy()}
    return probe.token_loss(stack, advantages=[advantage], mask=[[1] * 4], **fields)


def test_entropy_beside_its_pivot():
    assert relative_entropy(ENTROPY, ON, 1 / 3)[0].tolist() == pytest.approx([0, 1 / 3, 1, -1])
    assert relative_entropy(ENTROPY, ON, 1 / 3, fold=True)[0].tolist() == pytest.approx([0, 1 / 3, 1, 1])
    assert relative_entropy(ON, ON, 0.8).abs().max() == 0
    assert relative_entropy(ENTROPY, 0 * ON, 0.8).abs().max() == 0


def test_advantages_count_rewards_once_a_token():
    mask = [[1, 1, 1], [1, 0, 0], [1, 1, 1]]
    mean, spread = 3 / 7, math.sqrt(12) / 7
    found = probe.advantages("hapo-heterogeneous", [1, 0, 0], [0, 0, 0], mask=mask)
    assert found == pytest.approx((np.array([1, 0, 0]) - mean) / (spread + 1e-6))
    plain = probe.advantages("hapo-heterogeneous(advantage='completions')", [1, 0, 0], [0, 0, 0], mask=mask)
    assert plain == pytest.approx(probe.advantages("grpo", [1, 0, 0], [0, 0, 0], mask=mask))


def test_an_outlier_falls_back_to_completions():
    mask = [[1] * 40, [1] + [0] * 39]
    found = probe.advantages("hapo-heterogeneous", [0, 1], [0, 0], mask=mask)
    assert found == pytest.approx([-math.sqrt(0.5), math.sqrt(0.5)], abs=1e-5)


def test_high_entropy_may_rise_further_and_low_fall_further():
    stack = "hapo-heterogeneous(pivot=0.34, beta=0.0)"
    assert (loss(stack, 1.3)[1] != 0).tolist() == [[False, False, True, False]]
    assert (loss(stack, 0.7, -1.0)[1] != 0).tolist() == [[False, False, False, True]]


def test_weights_outside_and_inside_of_half_the_range():
    stack = "hapo-heterogeneous(pivot=0.34, alpha=0.0, clip_low=9.0, clip_high=9.0)"
    assert loss(stack, 1.0)[0] == pytest.approx(-np.array([[1, 1, 1, 0]]))
    wide = stack.replace("9.0", "0.4")
    assert loss(wide, 1.3)[0] == pytest.approx(-1.3 * np.array([[1, 4 / 3, 2, 1]]))


def test_equal_entropies_are_the_clipped_loss():
    for ratio in (0.7, 1.1, 1.5):
        ours = loss("hapo-heterogeneous", ratio, -0.5, ON)
        assert ours[0] == pytest.approx(loss("ppo-clip(clip_low=0.2, clip_high=0.2)", ratio, -0.5)[0])
