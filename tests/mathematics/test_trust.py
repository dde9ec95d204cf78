import math

import pytest
import torch

from harness.mathematics import binary_divergence, moment_keep, quadratic_penalty_loss, ratio_band


def log(p):
    return torch.tensor(p, dtype=torch.float64).log()


@pytest.mark.parametrize(
    ("old", "new", "tv", "kl"), [(0.01, 0.05, 0.04, 0.0247), (0.95, 0.6, 0.35, 0.3326), (0.5, 0.6, 0.1, 0.0204)]
)
def test_divergences_of_this_token_and_the_others(old, new, tv, kl):
    assert binary_divergence(log(new), log(old)).item() == pytest.approx(tv)
    assert binary_divergence(log(new), log(old), "kl").item() == pytest.approx(kl, abs=1e-4)


@pytest.mark.parametrize("delta", [1e-3, 0.05, 1.0])
def test_both_bounds_lie_on_the_ball(delta):
    p = torch.tensor([0.02, 0.3, 0.7, 0.97], dtype=torch.float64)
    for bound in ratio_band(p, delta):
        q = bound * p
        inside = (q > 1e-9) & (q < 1 - 1e-9)
        divergence = -p * bound.log() - (1 - p) * ((1 - q) / (1 - p)).log()
        torch.testing.assert_close(divergence[inside], torch.full_like(p, delta)[inside], rtol=1e-6, atol=1e-9)


def test_bounds_in_float32_stay_in_order():
    p = torch.linspace(0, 1, 101)
    for kind in ("kl", "tv", "chi2"):
        low, high = ratio_band(p, 0.05, kind)
        assert ((low >= 0) & (low <= 1) & (high >= 1) & (high <= 100)).all()


def test_masked_tokens_are_neither_kept_nor_counted():
    gap = torch.tensor([[9.0, 0.1, float("nan")], [0.1, 0.3, 9.0]])
    mask = torch.tensor([[0.0, 1, 0], [1, 1, 0]])
    assert moment_keep(gap, mask, 0.02).tolist() == [[False, True, False], [True, False, False]]
    assert not moment_keep(gap[:, :0], mask[:, :0], 0.1).numel()


def test_the_penalty_is_least_on_the_bound():
    ratio = torch.tensor([1.2, 0.8], dtype=torch.float64, requires_grad=True)
    quadratic_penalty_loss(ratio, torch.tensor([2.0, -3.0])).sum().backward()
    assert ratio.grad.abs().max() < 1e-9
    with pytest.raises(ValueError, match="divergence"):
        ratio_band(ratio, 0.1, "js")
    with pytest.raises(ValueError, match="divergence"):
        binary_divergence(ratio, ratio, "js")
    assert math.isfinite(binary_divergence(log(1.0), log(1.0), "kl"))
