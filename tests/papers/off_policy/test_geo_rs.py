import pytest

from tests.papers.off_policy.test_mis import weights


def test_the_length_of_a_completion_does_not_matter():
    assert weights("geo-rs", [[0.001] * 3])[0] == pytest.approx([1.0010005] * 3)
    assert weights("geo-rs", [[0.001] * 300]).all()
    assert not weights("geo-rs", [[0.01] * 3]).any()
    assert not weights("geo-rs", [[-0.01] * 3]).any()


def test_kept_tokens_carry_their_own_weight_or_none():
    gaps = [[0.5, -0.5]]
    assert weights("geo-rs", gaps)[0] == pytest.approx([1.648721, 0.606531], abs=1e-6)
    assert weights("geo-rs(weigh='none')", gaps)[0].tolist() == [1, 1]
