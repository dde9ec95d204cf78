import math

import pytest

from harness import probe
from harness.errors import HarnessError
from tests.papers.worked import approx

FIELDS = {"group": [0, 0], "mask": [[1, 1], [1, 1]], "logp_old": [[-1.0, -1.0]] * 2, "rewards": [1.0, 0.0]}
SPREAD = "amir-grpo(adapt=False, weight=1, margin={})"


def pairs(logp, margin=0.5, **fields):
    given = {**FIELDS, "logp": logp, **fields}
    both, slope = probe.loss(SPREAD.format(margin), **given)
    plain, base = probe.loss("grpo(beta=0)", **given)
    return both - plain, slope - base


def test_equal_scores_lose_log_two():
    value, slope = pairs([[-1.0, -1.0]] * 2)
    assert value == approx(math.log(2))
    assert slope.tolist() == [approx([-0.1, -0.1]), approx([0.1, 0.1])]


def test_all_pairs_of_a_group_and_none_of_two():
    fields = {"rewards": [1.0, 0.0, 0.0, 1.0], "group": [0, 0, 0, 1], "mask": [[1]] * 4, "logp_old": [[0.0]] * 4}
    value, _ = pairs([[0.0], [1.0], [-1.0], [5.0]], **fields)
    assert value == approx((math.log1p(math.exp(0.2)) + math.log1p(math.exp(-0.2))) / 2)
    assert pairs([[0.0]] * 4, margin=1.0, **fields)[0] == 0


def test_without_weight_it_is_grpo():
    given = {**FIELDS, "logp": [[-0.5, -1.5]] * 2}
    ours = probe.loss("amir-grpo(adapt=False, weight=0)", **given)
    assert ours[0] == probe.loss("grpo(beta=0)", **given)[0]


def test_the_weight_shrinks_while_the_loss_is_about_nothing():
    still = {**FIELDS, "logp": FIELDS["logp_old"]}
    assert probe.loss("amir-grpo", **still)[0] == approx(0.008 * math.log(2))


def test_a_reference_is_subtracted():
    value, _ = pairs([[-1.0, -1.0]] * 2, logp_ref=[[-1.0, -1.0]] * 2)
    given = {**FIELDS, "logp": [[-1.0, -1.0]] * 2}
    other = probe.loss("amir-grpo(adapt=False, weight=1, reference=True)", **given, logp_ref=[[-9.0, -9.0], [0.0, 0.0]])
    assert other[0] < value
    with pytest.raises(HarnessError, match="logp_ref"):
        probe.loss("amir-grpo(reference=True)", **given)
