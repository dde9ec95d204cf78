import pytest
import torch

from harness import Groups
from harness.mathematics import pairs_within

GROUPS = Groups(torch.tensor([0, 1, 0, 1, 0, 2]))
SCORES = torch.tensor([1.0, 0.0, 2.0, 0.0, 1.0, 3.0], dtype=torch.float64)


def pairs(kind, scores=SCORES, where=None, groups=GROUPS):
    found = pairs_within(groups, scores, where, kind)
    return found, list(zip(found.first.tolist(), found.second.tolist(), strict=True))


def test_the_better_one_comes_first_and_ties_are_no_pair():
    assert pairs("ordered")[1] == [(2, 0), (2, 4)]
    assert pairs("every")[1] == [(0, 2), (0, 4), (2, 4), (1, 3)]
    assert pairs("ordered", torch.tensor([3.0, 1, 2, 0, 1, 0]))[1] == [(0, 2), (0, 4), (2, 4), (1, 3)]
    assert pairs("extremes", torch.tensor([3.0, 1, 2, 0, 1, 0]))[1] == [(0, 4), (1, 3)]


def test_all_of_equal_extremes_are_in():
    groups, scores = Groups(torch.zeros(4, dtype=torch.long)), torch.tensor([1.0, 1.0, 0.0, 0.5])
    assert pairs("extremes", scores, groups=groups)[1] == [(0, 2), (1, 2)]


def test_groups_weigh_the_same_and_pairs_within_them():
    found, _ = pairs("every")
    assert found.weight.tolist() == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 2])
    assert float(found.mean(torch.tensor([3.0, 6.0, 9.0, 2.0]))) == pytest.approx(4)
    kept = found.where(torch.tensor([True, False, True, False]), GROUPS)
    assert len(kept) == 2
    assert kept.weight.tolist() == pytest.approx([0.5, 0.5])


def test_who_does_not_count_is_in_no_pair():
    missing = torch.tensor([1.0, 0.0, torch.nan, 0.0, 3.0, 3.0])
    assert pairs("ordered", missing)[1] == [(4, 0)]
    assert pairs("every", missing)[1] == [(0, 4), (1, 3)]
    assert pairs("every", where=torch.tensor([True, True, False, False, True, True]))[1] == [(0, 4)]


def test_edges():
    empty, none = pairs("ordered", torch.zeros(0), groups=Groups(torch.zeros(0, dtype=torch.long)))
    assert none == []
    assert float(empty.mean(torch.zeros(0))) == 0
    with pytest.raises(ValueError, match="kind"):
        pairs("best")


@pytest.mark.parametrize("kind", ["ordered", "extremes", "every"])
def test_the_order_of_rows_does_not_matter(kind):
    order = torch.tensor([4, 1, 5, 3, 0, 2])
    found, _ = pairs(kind)
    other, _ = pairs(kind, SCORES[order], groups=Groups(GROUPS.keys[order]))
    gaps = [float(one.mean(one.gap(x).abs())) for one, x in ((found, SCORES), (other, SCORES[order]))]
    assert gaps[0] == pytest.approx(gaps[1])
