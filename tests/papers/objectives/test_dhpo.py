import math

import pytest

from harness import probe
from tests.papers.worked import surrogate

FIELDS = {"logp_old": [[-1.0, -2.0], [-0.5, -0.5]], "advantages": [1.0, -2.0], "mask": [[1, 1], [1, 1]]}


def test_the_ends_of_the_mix_are_its_parents():
    fields = {"logp": [[-0.5, -2.3], [-0.9, -0.4]], **FIELDS}
    for stack, parent in (("dhpo(mix=1.0)", "grpo(beta=0, clip_high=0.28)"), ("dhpo(mix=0.0)", "gspo")):
        for ours, theirs in zip(probe.token_loss(stack, **fields), probe.token_loss(parent, **fields), strict=True):
            assert ours == pytest.approx(theirs)


def test_each_ratio_is_clipped_in_its_own_region_before_the_average():
    loss, gradient = surrogate("dhpo", 2.0, 1.0)
    assert loss == pytest.approx(-(1.28 + 1.0004) / 2)
    assert gradient == 0
    assert surrogate("dhpo", 2.0, -1.0) == pytest.approx((2, 2))


def test_the_uncertain_token_goes_by_its_own_ratio():
    fields = {"logp": [[-1.0 + math.log(1.1), -2.0]], "logp_old": [[-1.0, -2.0]], "advantages": [1.0], "mask": [[1, 1]]}
    loss, _ = probe.token_loss("dhpo(guided=True)", entropy=[[2.0, 0.0]], **fields)
    assert loss[0, 0] == pytest.approx(-1.1)  # all token ratio
    assert loss[0, 1] == pytest.approx(-1.0004)  # all sequence ratio, clipped
