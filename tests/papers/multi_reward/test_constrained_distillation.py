import pytest
import torch
from harness_papers.multi_reward.constrained_distillation import ConstrainedDistillation

from harness import probe

approx = pytest.approx


def paid(reward, apart, **params):
    tensors = torch.tensor([reward], dtype=torch.float64), torch.tensor([apart], dtype=torch.float64)
    return float(ConstrainedDistillation(**params).paid(*tensors))


def test_reward_within_the_budget_excess_beyond():
    assert [paid(1, 0.05), paid(1, -3), paid(1, 0.1)] == approx([1, 1, 1])
    assert [paid(1, 0.3), paid(0, 0.3), paid(1, 0.3, lam=2.0)] == approx([-0.2, -0.2, -0.4])


def test_the_divergence_is_a_mean_over_tokens():
    fields = {"logp_old": [[-0.2, -0.2], [-1.0, 9.0]], "logp_ref": [[-0.6, -0.2], [-1.02, 0.0]], "lengths": [2, 1]}
    fields["mask"] = [[1, 1], [1, 0]]
    found = probe.rewards("constrained-distillation", [1.0, 0.5], [0, 0], **fields)
    assert found["constrained"] == approx([-0.1, 0.5])
