import pytest

from harness import probe


def ranking(correct, likely, group=None, method="rere"):
    fields = {"logp_old": [[x] for x in likely], "mask": [[1]] * len(likely)}
    return probe.rewards(method, correct, [0] * len(likely) if group is None else group, **fields)["ranking"]


def test_worked_example():
    found = ranking([0, 0, 0, 1], [-0.2, -0.1, -0.3, -0.4])
    assert found == pytest.approx([-0.24630, -0.39038, -0.19519, 0], abs=1e-5)
    assert ranking([1, 0, 0, 0], [-0.1, -0.2, -0.3, -0.4])[3] == pytest.approx(-0.16813, abs=1e-5)


def test_without_a_right_answer_nothing_is_punished():
    assert ranking([0, 0, 0, 1], [-0.2, -0.1, -0.3, -0.4], [0, 0, 1, 1]) == pytest.approx([0, 0, -0.6131, 0], abs=1e-4)


def test_all_of_it_sums_to_one():
    assert ranking([1, 1, 0], [-0.2, -0.1, -0.3]).sum() > -1
    assert ranking([0] * 3 + [1], [-1, -2, -3, -9]).sum() == pytest.approx(-1 + 0.16813, abs=1e-5)
