"""The measures on directions whose bias and noise are known."""

from __future__ import annotations

import math

import pytest
import torch

from harness.lab import measures

EXACT = torch.tensor([3.0, 4.0, 0.0], dtype=torch.float64)


def _noisy(mean: torch.Tensor, spread: float, count: int = 4000) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    return mean + spread * torch.randn(count, len(mean), dtype=torch.float64, generator=generator)


def test_scale_does_not_matter() -> None:
    assert measures.cosine_of_batches(7 * EXACT[None], EXACT) == pytest.approx(1)
    assert measures.bias(torch.stack([EXACT, EXACT]) * 0.01, EXACT) == pytest.approx(0, abs=1e-6)


def test_noise_is_not_taken_for_bias() -> None:
    ascent = _noisy(EXACT, 20.0)
    assert measures.bias(ascent, EXACT) < 0.2
    assert measures.noise(ascent) == pytest.approx(3 * 400 / 25, rel=0.15)
    assert measures.cosine_of_batches(ascent, EXACT) < 0.25


def test_a_turned_direction_is_biased_by_the_sine() -> None:
    turned = torch.tensor([3.0, 0.0, 0.0], dtype=torch.float64)
    assert measures.bias(torch.stack([turned, turned]), EXACT) == pytest.approx(0.8)
    assert measures.bias(torch.stack([-EXACT, -EXACT]), EXACT) == 1.0


def test_no_direction_at_all() -> None:
    nothing = torch.zeros(5, 3, dtype=torch.float64)
    assert measures.cosine_of_batches(nothing, EXACT) == 0
    assert measures.cosine_of_mean(nothing, EXACT) == 0
    assert measures.bias(nothing, EXACT) == 1
    assert math.isinf(measures.noise(nothing))


def test_signs_and_silence() -> None:
    pull = torch.tensor([[1.0, -2.0, 0.0], [0.0, 0.0, 0.0]])
    advantage = torch.tensor([[0.5, 0.5, -1.0], [1.0, 1.0, -1.0]])
    assert measures.sign_errors(pull, advantage) == 0.5
    assert measures.silent_groups(pull) == 0.5
    assert math.isnan(measures.sign_errors(torch.zeros(2, 2), torch.ones(2, 2)))
