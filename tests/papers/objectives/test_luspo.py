import numpy as np
import pytest

from harness import probe

OLD, MASK = [[-1.0, -1.0, -1.0], [-1.0, 0.0, 0.0]], [[1, 1, 1], [1, 0, 0]]


def test_on_policy_it_is_reinforce_summed_over_tokens():
    loss, gradient = probe.objective("luspo", logp=OLD, logp_old=OLD, advantages=[2.0, -1.0], mask=MASK)
    assert loss == pytest.approx((3 * -2 + 1) / 2)
    np.testing.assert_allclose(gradient, [[-1, -1, -1], [0.5, 0, 0]])


def test_the_length_multiplies_what_gspo_gives():
    logp = [[-0.9, -1.1, -0.8], [-1.2, 0.0, 0.0]]
    fields = {"logp": logp, "logp_old": OLD, "advantages": [2.0, -1.0], "mask": MASK, "params": {"clip_high": 0.3}}
    luspo, gspo = (probe.objective(slug, **fields)[1] for slug in ("luspo", "gspo"))
    np.testing.assert_allclose(luspo, gspo * [[3], [1]])


def test_an_empty_completion_has_no_part():
    loss, _ = probe.objective("luspo", logp=OLD, logp_old=OLD, advantages=[2.0, 5.0], mask=[[1, 1, 1], [0, 0, 0]])
    assert loss == pytest.approx(-6)
