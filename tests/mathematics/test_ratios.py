"""Ratios of two policies, token by token and of whole completions."""

import math

import pytest
import torch

from harness.mathematics import importance_weights, log_gap, mean_one, per_row

MASK = torch.tensor([[1.0, 1, 0], [0, 0, 0]])
NAN = float("nan")


def test_a_gap_is_clamped_and_0_where_masked_or_unknown():
    gap = log_gap(torch.tensor([[0.0, NAN, 5], [0, 0, 0]]), torch.tensor([[-100.0, 1, 0], [0, 0, 0]]), MASK)
    assert gap.tolist() == [[20, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize(("how", "first"), [("token", [1, -3, 0]), ("sum", [-2]), ("mean", [-1]), ("max", [1])])
def test_rows_are_reduced_over_their_tokens(how, first):
    assert per_row(torch.tensor([[1.0, -3, 9], [7, 7, 7]]), MASK, how).tolist() == [first, [0] * len(first)]


def test_no_columns():
    assert per_row(torch.zeros(2, 0), torch.zeros(2, 0), "max").tolist() == [[0], [0]]


def test_length_matters_for_the_product_only():
    gap, mask = torch.full((1, 100), 0.01, dtype=torch.float64), torch.ones(1, 100, dtype=torch.float64)
    assert importance_weights(gap, mask, "sequence").item() == pytest.approx(math.e)
    assert importance_weights(gap, mask, "geometric").item() == pytest.approx(1.01005, abs=1e-5)


def test_mean_one_counts_tokens_or_rows_with_tokens():
    assert mean_one(torch.tensor([[1.0, 3, 99], [99, 99, 99]]), MASK)[0, :2].tolist() == [0.5, 1.5]
    assert mean_one(torch.tensor([[4.0], [100]]), MASK)[0].item() == 1


@pytest.mark.parametrize(
    "function", [lambda: per_row(MASK, MASK, "median"), lambda: importance_weights(MASK, MASK, "row")]
)
def test_unknown_levels_are_named(function):
    with pytest.raises(ValueError, match="unknown"):
        function()
