from tests.papers.worked import advantages, approx

LOGP = {"logp_old": [[-1.0, -3.0], [-0.5, 9.0]], "mask": [[1, 1], [1, 0]]}


def test_likely_successes_count_less_and_likely_failures_more():
    got = advantages("ds-grpo(correct=0.1, wrong=0.2)", [1.0, 0.0], **LOGP)
    assert got.tolist() == approx([1 + 0.1 * 2, -1 - 0.2 * 0.5], abs=1e-5)


def test_without_weights_it_is_grpo():
    plain = advantages("ds-grpo(correct=0, wrong=0, population=False)", [1.0, 0.0], **LOGP)
    assert plain == approx(advantages("grpo", [1.0, 0.0]))


def test_unanimous_groups_are_smoothed_too():
    assert advantages("ds-grpo(correct=0.1)", [1.0, 1.0], **LOGP).tolist() == approx([0.2, 0.05])
    assert advantages("ds-grpo", [-1.0, -1.0], **LOGP).tolist() == [0, 0]
