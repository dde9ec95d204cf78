import math

import pytest

from harness import probe


def slope(ratio, advantage, stack="cispo", **params):
    fields = {"logp_old": [[0.0]], "advantages": [advantage], "mask": [[1]], "params": params}
    return probe.token_loss(stack, logp=[[math.log(ratio)]], **fields)[1].item()


def test_the_cap_keeps_the_gradient_that_ppo_drops():
    assert slope(3, 1.0, cap=2.0) == pytest.approx(-2)
    assert slope(3, 1.0, "ppo-clip") == 0


def test_no_floor_as_published():
    assert slope(0.1, 1.0) == pytest.approx(-0.1)
    assert slope(0.1, 1.0, floor=0.8) == pytest.approx(-0.8)


@pytest.mark.parametrize(("ratio", "advantage", "kept"), [(3, 1, 0), (3, -1, 1), (0.5, -1, 0), (0.5, 1, 1)])
def test_the_unified_mask_drops_what_ppo_would_clip(ratio, advantage, kept):
    assert bool(slope(ratio, advantage, cap=2.0, floor=0.8, mask_clipped=True)) == bool(kept)
