"""Groups of very unequal sizes are sorted in another way than those that fit a table; nobody can tell which it was."""

import pytest
import torch

from harness import Groups, group_order


def statistics(keys, x, where):
    groups = Groups(keys)
    return [groups.rank(x, where), groups.median(x, where), groups.quantile(x, 0.3, where)]


@pytest.mark.parametrize("shape", [(40,), (40, 2), (40, 2, 2)])
@pytest.mark.parametrize("ascending", [True, False])
def test_both_ways_agree(shape, ascending, monkeypatch):
    noise = torch.Generator().manual_seed(len(shape))
    keys = torch.randint(0, 7, (40,), generator=noise)
    keys = keys.sort().values if ascending else keys
    x = torch.randint(-2, 3, shape, generator=noise).double()  # with ties
    x[torch.rand(shape, generator=noise) < 0.2] = torch.nan
    x[3], x[4] = torch.inf, torch.nan
    where = torch.rand(shape, generator=noise) < 0.7
    side_by_side = statistics(keys, x, where)
    monkeypatch.setattr(group_order, "SPARSE", 0)
    for one, other in zip(side_by_side, statistics(keys, x, where), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


def test_one_large_group_among_many_small_ones():
    keys = torch.cat([torch.arange(1, 1001), torch.zeros(1000, dtype=torch.long)])
    x = torch.arange(2000.0).flip(0)
    ranks = Groups(keys).rank(x)
    assert not ranks[:1000].any()
    assert ranks[1000:].tolist() == list(range(999, -1, -1))
    assert Groups(keys).median(x)[1999] == 499


def test_keys_of_many_columns_have_the_order_of_tuples():
    noise = torch.Generator().manual_seed(0)
    few = torch.randint(-2, 3, (50, 3), generator=noise)
    many = torch.cat([few, torch.zeros(50, 9, dtype=torch.long)], 1)
    tuples = sorted(set(map(tuple, few.tolist())))
    expected = [tuples.index(tuple(row)) for row in few.tolist()]
    assert Groups(few).index.tolist() == expected
    assert Groups(many).index.tolist() == expected


def test_no_column_at_all():
    groups, nothing = Groups(torch.tensor([0, 1, 1])), torch.zeros(3, 0)
    for name in (
        "mean",
        "std",
        "sum",
        "min",
        "max",
        "median",
        "rank",
        "standardize",
        "leave_one_out_mean",
        "logsumexp",
    ):
        assert getattr(groups, name)(nothing).shape == (3, 0)
