import torch
from harness_papers.pairs import Pairs

from harness import Groups

PAIRS = Pairs.of(Groups(torch.tensor([1, 0, 1, 1])))
X = torch.tensor([1.0, 2.0, 3.0, 4.0])


def test_tables_and_back():
    assert PAIRS.table(X).tolist() == [[2, 0, 0], [1, 3, 4]]
    assert PAIRS.rows(PAIRS.table(X)).tolist() == X.tolist()
    assert PAIRS.rows(PAIRS.table(torch.stack([X, -X], 1))).tolist() == torch.stack([X, -X], 1).tolist()


def test_others_are_members_of_the_same_group():
    assert PAIRS.others()[0].sum() == 0
    assert PAIRS.others()[1].tolist() == [[False, True, True], [True, False, True], [True, True, False]]
    assert PAIRS.others(torch.tensor([True, True, False, True]))[1].sum() == 2


def test_no_rows_at_all():
    none = Pairs.of(Groups(torch.zeros(0, dtype=torch.long)))
    assert none.rows(none.table(torch.zeros(0))).shape == (0,)
