import numpy as np

from tests.papers.worked import advantages, approx

LIKELY = np.log([[0.8], [0.4], [0.4], [0.2]])


def test_a_group_of_wrong_answers_teaches_by_confidence():
    got = advantages("lens", [0.0] * 4, logp_old=LIKELY, mask=np.ones((4, 1)))
    assert got.tolist() == approx([x * 0.25 for x in (-0.1369, 0.0298, 0.0298, 0.0774)], abs=1e-4)


def test_mixed_groups_are_scored_and_right_ones_are_left():
    got = advantages("lens", [1.0, 0.0, 0.0, 0.0], logp_old=LIKELY, mask=np.ones((4, 1)))
    # D = max(1 / (1/4 / 0.8), 2 x 0.8) = 3.2.
    shaped = np.array([1, *(-p / (3.2 - p) / 4 for p in (0.4, 0.4, 0.2))])
    assert got == approx((shaped - shaped.mean()) / shaped.std(ddof=1), abs=1e-5)
    assert not advantages("lens", [1.0] * 4, logp_old=LIKELY, mask=np.ones((4, 1))).any()


def test_length_does_not_count_and_edges():
    mask = [[1, 1], [1, 0]]
    same = advantages("lens", [0.0, 0.0], logp_old=[[-1.0, -1.0], [-1.0, 0.0]], mask=mask)
    assert not same.any()
    assert not advantages("lens", [0.0], logp_old=[[-1.0]], mask=[[1]]).any()
