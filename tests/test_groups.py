"""The group algebra against plain loops, and its conventions at the edges."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from harness import Groups, standardize

NAN = float("nan")


def looped(keys, x, statistic):
    """Per member, `statistic` of its group's values that are not NaN."""
    out = torch.zeros_like(x)
    for key in keys.unique():
        rows = keys == key
        values = x[rows]
        out[rows] = statistic(values[~values.isnan()])
    return out


def lower_median(v):
    return v.sort().values[(len(v) - 1) // 2]


def sample_std(v):
    return v.std() if len(v) > 1 else torch.zeros((), dtype=v.dtype)


LOOPS = {
    "mean": torch.mean, "sum": torch.sum, "min": torch.min, "max": torch.max, "std": sample_std,
    "median": lower_median, "logsumexp": lambda v: v.logsumexp(0),
}  # fmt: skip


@pytest.fixture
def keys():
    return torch.tensor([7, 3, 7, 7, 3, 11, 7, 3])


@pytest.fixture
def x():
    return torch.randn(8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", LOOPS)
def test_statistics_agree_with_loops(name, keys, x):
    x[2] = NAN
    expected = looped(keys, x, LOOPS[name])
    torch.testing.assert_close(getattr(Groups(keys), name)(x), expected)


@pytest.mark.parametrize("name", LOOPS)
def test_columns_are_independent(name, keys, x):
    both = torch.stack([x, -2 * x], 1)
    got = getattr(Groups(keys), name)(both)
    for column in range(2):
        torch.testing.assert_close(got[:, column], getattr(Groups(keys), name)(both[:, column]))


@pytest.mark.parametrize("name", [*LOOPS, "quantile"])
def test_where_is_the_same_as_nan(name, keys, x):
    where = torch.tensor([True, False, True, True, True, True, False, True])
    extra = (0.3,) if name == "quantile" else ()
    without = torch.where(where, x, torch.full_like(x, NAN))
    statistic = getattr(Groups(keys), name)
    torch.testing.assert_close(statistic(x, *extra, where=where), statistic(without, *extra))


def test_one_row_per_group(keys, x):
    groups = Groups(keys)
    assert groups.number == 3
    assert groups.index.tolist() == [1, 0, 1, 1, 0, 2, 1, 0]
    assert keys[groups.first].tolist() == [3, 7, 11]
    assert groups.count(expand=False).tolist() == [3, 4, 1]
    assert groups.count().tolist() == [4, 3, 4, 4, 3, 1, 4, 3]
    torch.testing.assert_close(groups.mean(x, expand=False)[groups.index], groups.mean(x))


def test_keys_of_several_columns_are_tuples():
    pairs = torch.tensor([[0, 1], [1, 0], [0, 1], [0, 0]])
    assert Groups(pairs).count().tolist() == [2, 1, 2, 1]


def test_quantiles_interpolate():
    groups = Groups(torch.tensor([0, 0, 0, 0, 1]))
    x = torch.tensor([4.0, 1.0, 3.0, 2.0, 9.0])
    assert groups.quantile(x, 0.5).tolist() == [2.5, 2.5, 2.5, 2.5, 9.0]
    assert groups.quantile(x, 0.0).tolist() == [1.0, 1.0, 1.0, 1.0, 9.0]
    assert groups.quantile(x, 1.0).tolist() == [4.0, 4.0, 4.0, 4.0, 9.0]
    with pytest.raises(ValueError, match="outside 0 to 1"):
        groups.quantile(x, 1.5)


def test_ranks_are_ordinal_and_stable():
    groups = Groups(torch.tensor([1, 0, 1, 1, 0, 1]))
    x = torch.tensor([2.0, 5.0, 1.0, 2.0, 5.0, NAN])
    assert groups.rank(x).tolist() == [1, 0, 0, 2, 1, -1]
    assert groups.rank(x, x < 5).tolist() == [1, -1, 0, 2, -1, -1]


def test_leave_one_out():
    groups = Groups(torch.tensor([0, 0, 0, 1]))
    x = torch.tensor([1.0, 0.0, 0.0, 5.0])
    assert (x - groups.leave_one_out_mean(x)).tolist() == [1.0, -0.5, -0.5, 0.0]
    # Who does not count compares with all who do.
    where = torch.tensor([False, True, True, True])
    assert groups.leave_one_out_mean(x, where).tolist() == [0.0, 0.0, 0.0, 5.0]


def test_truth():
    groups = Groups(torch.tensor([0, 0, 1, 1, 2]))
    x = torch.tensor([True, False, True, True, False])
    assert groups.any(x).tolist() == [True, True, True, True, False]
    assert groups.all(x).tolist() == [False, False, True, True, False]
    nobody = torch.zeros(5, dtype=torch.bool)
    assert not groups.any(x, nobody).any()
    assert groups.all(x, nobody).all()


@pytest.mark.parametrize("value", [0.3, 0.1, 1 / 3, 1e6 + 0.7, -7.7])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_tied_group_is_exactly_zero(value, dtype):
    keys = torch.tensor([0] * 6 + [1] * 5)
    x = torch.tensor([value] * 6 + [0.0, 1.0, 1.0, 0.0, 1.0], dtype=dtype)
    groups = Groups(keys)
    for got in (groups.center(x), groups.standardize(x, eps=1e-9), groups.standardize(x, eps=0.0)):
        assert got[:6].tolist() == [0.0] * 6
    assert (x - groups.leave_one_out_mean(x))[:6].tolist() == [0.0] * 6
    assert groups.std(x)[0] == 0
    assert standardize(x[:6], eps=1e-12).tolist() == [0.0] * 6


def test_a_group_of_one_standardizes_to_zero():
    groups = Groups(torch.tensor([0, 1, 1]))
    x = torch.tensor([3.0, 0.0, 1.0])
    assert groups.standardize(x, eps=0.0).tolist() == pytest.approx([0.0, -math.sqrt(0.5), math.sqrt(0.5)])
    assert groups.std(x).tolist() == pytest.approx([0.0, math.sqrt(0.5), math.sqrt(0.5)])
    assert groups.std(x, correction=0).tolist() == [0.0, 0.5, 0.5]


def test_missing_values_centre_to_zero_and_do_not_count():
    groups = Groups(torch.tensor([0, 0, 0, 1]))
    x = torch.tensor([1.0, NAN, 3.0, NAN])
    assert groups.center(x).tolist() == [-1.0, 0.0, 1.0, 0.0]
    assert groups.mean(x).tolist() == [2.0, 2.0, 2.0, 0.0]
    assert groups.standardize(x).isfinite().all()
    assert groups.leave_one_out_mean(x).tolist() == [3.0, 2.0, 1.0, 0.0]
    assert groups.logsumexp(x)[3] == -math.inf


@pytest.mark.parametrize("name", ["mean", "std", "sum", "min", "max", "median", "logsumexp", "center", "standardize"])
def test_gradients(name):
    keys = torch.tensor([0, 1, 0, 0, 1, 2])
    x = torch.randn(6, dtype=torch.float64, generator=torch.Generator().manual_seed(3)).requires_grad_()
    # The std of the group of one has no slope in x; its members are left out of the check by their weight.
    assert torch.autograd.gradcheck(lambda v: getattr(Groups(keys), name)(v)[:5], (x,))


def test_gradient_of_a_group_without_spread_is_zero():
    x = torch.ones(3, requires_grad=True)
    Groups(torch.zeros(3, dtype=torch.long)).standardize(x).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("shape", [(0,), (0, 2)])
def test_nobody_at_all(shape):
    groups = Groups(torch.zeros(shape, dtype=torch.long))
    empty = torch.zeros(0)
    assert groups.number == 0
    for name in ("mean", "std", "sum", "min", "max", "median", "rank", "center", "standardize", "logsumexp", "any"):
        assert getattr(groups, name)(empty).shape == (0,)
    assert groups.quantile(empty, 0.5, expand=False).shape == (0,)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(-5, 5, width=32)), min_size=1, max_size=24),
    st.randoms(use_true_random=False),
)
def test_order_of_rows_changes_nothing(rows, random):
    order = list(range(len(rows)))
    random.shuffle(order)
    keys, x = torch.tensor([k for k, _ in rows]), torch.tensor([v for _, v in rows], dtype=torch.float64)
    for name in ("mean", "std", "median", "max", "leave_one_out_mean", "standardize"):
        direct = getattr(Groups(keys), name)(x)[order]
        torch.testing.assert_close(getattr(Groups(keys[order]), name)(x[order]), direct, rtol=1e-6, atol=1e-6)


def test_shapes_that_cannot_be():
    with pytest.raises(ValueError, match=r"expected \[M\] or \[M, C\]"):
        Groups(torch.zeros(2, 2, 2))
    with pytest.raises(ValueError, match="4 members"):
        Groups(torch.zeros(4)).mean(torch.zeros(3))


def test_standardize_over_the_tokens_that_count():
    x = torch.tensor([[1.0, 2.0, 99.0], [3.0, NAN, -99.0]])
    mask = torch.tensor([[1, 1, 0], [1, 1, 0]])
    got = standardize(x, mask, eps=0.0)
    assert got[mask > 0].tolist() == [-1.0, 0.0, 1.0, 0.0]
    assert standardize(x.nan_to_num(), eps=0.0).mean() == pytest.approx(0, abs=1e-6)
