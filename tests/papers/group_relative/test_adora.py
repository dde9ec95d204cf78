import pytest

from tests.papers.worked import advantages, approx

LONGEST_RIGHT = [(100, [200, 300], 0.1), (400, [200, 300], 1.0), (250, [200, 300], 0.1), (251, [200, 300], 1.0)]


@pytest.mark.parametrize(("right", "wrong", "weight"), LONGEST_RIGHT)
def test_the_longest_right_against_the_mean_wrong(right, wrong, weight):
    rewards, lengths = [1.0, 1.0, 0.0, 0.0], [50, right, *wrong]
    got = advantages("adora", rewards, lengths=lengths)
    assert got == approx(weight * advantages("grpo", rewards))


def test_truncated_answers_do_not_count():
    rewards, fields = [1.0, 0.0, 0.0], {"lengths": [100, 50, 900], "truncated": [False, False, True]}
    assert advantages("adora", rewards, **fields) == approx(advantages("grpo", rewards))
    assert advantages("adora(cutoff=1000)", rewards, **fields) == approx(0.1 * advantages("grpo", rewards))


def test_where_one_side_is_missing():
    rewards = [0.3, 0.1]
    for given, weight in (({}, 0.1), ({"none_right": False}, 1.0)):
        got = advantages("adora", rewards, lengths=[3, 4], params=given or None)
        assert got == approx(weight * advantages("grpo", rewards))
    rewards = [1.0, 0.9]
    for given, weight in (({}, 1.0), ({"none_wrong": True}, 0.1)):
        got = advantages("adora", rewards, lengths=[3, 4], params=given or None)
        assert got == approx(weight * advantages("grpo", rewards))
    assert advantages("adora(shrink=1)", [1.0, 0.0], lengths=[3, 4]) == approx(advantages("grpo", [1.0, 0.0]))
