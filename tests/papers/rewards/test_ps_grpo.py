import pytest

from harness import probe

approx = pytest.approx
IDS = [[1, 2, 3], [1, 2, 3], [1, 2, 3], [7, 8, 9]]


def consistent(ids=IDS, wording=(0, 0, 1, 1), lengths=None, **params):
    rows = len(ids)
    fields = {"completion_ids": ids, "lengths": lengths or [3] * rows, "wording": list(wording)}
    fields |= {"correct": [False] * rows, "params": params, "prompt": [0] * rows}
    return probe.rewards("ps-grpo", [0.0] * rows, [0] * rows, **fields)["consistent"]


def test_likeness_to_the_other_wordings_only():
    assert consistent() == approx([0.5, 0.5, 1, 0], abs=1e-9)
    assert consistent([IDS[0]] * 4) == approx([1] * 4)
    assert consistent(alpha=2.0) == approx([1, 1, 2, 0], abs=1e-9)


def test_one_wording_and_empty_completions_have_none():
    assert consistent(wording=(0,) * 4) == approx([0] * 4)
    assert consistent(lengths=[0, 3, 3, 3])[0] == 0


def test_groups_are_wordings_and_the_verdict_counts():
    fields = {"completion_ids": [IDS[0]] * 4, "lengths": [3] * 4, "wording": [0, 0, 1, 1], "prompt": [0] * 4}
    found = probe.advantages("ps-grpo", [1.0, 0.0, 0.0, 0.0], [0] * 4, shaped=True, **fields)
    assert found == approx([2**-0.5, -(2**-0.5), 0, 0], abs=1e-3)
