import math

import numpy as np
import pytest
import torch
from harness_papers.objectives.grpo_sg import GRPOSG

from harness import probe

LOGP = [[math.log(0.9), math.log(0.5), math.log(0.05)]]
FIELDS = {"logp": LOGP, "logp_old": LOGP, "advantages": [1.0], "mask": [[1, 1, 1]]}


def test_the_gradient_is_weighted():
    weight = GRPOSG().weight(torch.tensor([0.9, 0.5, 0.05], dtype=torch.float64)).numpy()
    assert weight == pytest.approx([1.4, 2 / (1 + math.exp(-2)) - 0.5, 2 / (1 + math.exp(-0.2)) - 0.5])
    assert probe.token_loss("grpo-sg", **FIELDS)[1] == pytest.approx(-weight[None])


def test_weights_rise_with_the_probability_within_bounds():
    weight = GRPOSG(low=0.6).weight(torch.linspace(0, 1, 11, dtype=torch.float64))
    assert (weight.diff() >= 0).all()
    assert weight.min() >= 0.6
    assert weight.max() == 1.4


def test_a_flat_weight_is_the_base():
    ours, theirs = (probe.token_loss(stack, **FIELDS) for stack in ("grpo-sg(low=1.0, high=1.0)", "grpo(beta=0)"))
    assert np.array_equal(ours[0], theirs[0])
