import pytest
import torch

from harness import Groups
from harness.mathematics import all_pairs_square, group_average, log_mean_exp, log_sum_exp

GROUPS = Groups(torch.tensor([0, 0, 0, 1, 2]))
X = torch.tensor([1.0, 2.0, 4.0, 3.0, 0.5], dtype=torch.float64)
WHO = torch.tensor([True, True, False, True, False])


def test_sums_of_exponentials():
    expected = [X[:2].logsumexp(0), 3.0, 0.0]
    assert log_sum_exp(GROUPS, X, WHO).tolist() == pytest.approx([float(x) for x in expected])
    assert log_mean_exp(GROUPS, X)[0].item() == pytest.approx(float(X[:3].exp().mean().log()))
    assert log_sum_exp(GROUPS, X, WHO, plus=1.0)[2] == 0, "the softplus of nothing"
    assert log_sum_exp(GROUPS, X, plus=1.0)[1].item() == pytest.approx(float(torch.nn.functional.softplus(X[3])))


def test_gradients_stay_finite_where_nobody_counts_and_where_values_are_large():
    x = (X * 1000).requires_grad_()
    for plus in (0.0, 1.0):
        (slope,) = torch.autograd.grad(log_sum_exp(GROUPS, x, WHO, plus=plus).sum(), x)
        assert slope.tolist() == pytest.approx([0, 1, 0, 1, 0])
    (slope,) = torch.autograd.grad(log_sum_exp(GROUPS, -x, WHO, plus=1.0).sum(), x)
    assert slope.tolist() == pytest.approx([0] * 5)


def test_pairs_and_averages():
    assert all_pairs_square(GROUPS, X).tolist() == pytest.approx([1 + 4 + 9, 0, 0])
    assert all_pairs_square(GROUPS, X, WHO).tolist() == pytest.approx([1, 0, 0])
    assert group_average(GROUPS, torch.tensor([2.0, 4.0, 9.0]), WHO).item() == pytest.approx(3)
    assert group_average(GROUPS, torch.tensor([2.0, 4.0, 9.0]), WHO & False).item() == 0
