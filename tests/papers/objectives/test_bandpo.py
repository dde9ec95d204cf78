import math

import pytest
import torch

from harness.errors import HarnessError
from harness.mathematics import ratio_band
from tests.papers.worked import surrogate


def band(p, **options):
    low, high = ratio_band(torch.tensor([p], dtype=torch.float64), 0.05, **options)
    return low.item(), high.item()


@pytest.mark.parametrize(
    ("p", "bounds"),
    [(0.01, (0.0025, 7.810)), (0.1, (0.3128, 2.2008)), (0.5, (0.6915, 1.3085)), (0.9, (0.8666, 1.0764))],
)
def test_the_kl_ball_is_wide_for_rare_tokens(p, bounds):
    assert band(p) == pytest.approx(bounds, abs=1e-3)


def test_closed_forms_and_edges():
    assert band(0.1, kind="tv") == pytest.approx((0.5, 1.5))
    assert band(0.1, kind="chi2") == pytest.approx((0.3292, 1.6708), abs=1e-4)
    assert band(1.0) == pytest.approx((math.exp(-0.05), 1.0))
    assert band(1e-9) == (0.0, 100.0)
    assert band(0.999, kind="tv")[1] == pytest.approx(1 / 0.999)


def test_the_clip_is_the_tokens_own():
    old = {"logp_old": [[math.log(0.1)]], "logp": [[math.log(0.3)]]}
    assert surrogate("bandpo", 1, 1.0, **old) == pytest.approx((-2.2008, 0), abs=1e-3)
    assert surrogate("bandpo(divergence='tv', relax_high=0.9)", 1, 1.0, **old)[0] == pytest.approx(-1.9)
    assert surrogate("bandpo(dual=2)", 1, -1.0, **old)[0] == pytest.approx(2)
    with pytest.raises(HarnessError, match="divergence"):
        surrogate("bandpo(divergence='js')", 1, 1.0)
