import numpy as np
import pytest
import torch

from harness import probe
from harness.errors import HarnessError
from harness.mathematics import moment_bound

OLD = np.zeros((1, 4))


def kept(moved, method="m2po", advantage=1.0, **fields):
    known = {"logp": [moved], "logp_old": OLD, "advantages": [advantage], "mask": np.ones((1, 4))}
    _, gradient = probe.token_loss(method, **(known | fields))
    return (gradient[0] != 0).tolist()


def test_the_largest_log_ratios_leave_until_the_rest_is_within_the_budget():
    assert kept([0, 0, 0, 1.0]) == [True, True, True, False]
    assert kept([0.1, 0.1, -0.1, 0.1]) == [True] * 4
    assert kept([0.3, 0.3, 0.1, -0.3]) == [False, False, True, False], "the mean of 0.1 and one 0.3 squared is 0.05"
    assert sum(kept([3, 3, 3, 3])) == 1, "one always stays"


def test_stale_data_is_measured_before_the_step():
    stale = {"logp_sampler": [[0.0, 0, 0, 1.0]]}
    assert kept([0, 0, 0, 0], "m2po(form='mask-stale')", **stale) == [True, True, True, False]
    assert kept([0, 0, 0, 5.0], "m2po(form='mask-stale')") == [True] * 4


def test_the_clip_looks_at_harmful_tokens_and_is_never_tight():
    assert kept([0, 0, 0, 1.0], "m2po(form='clip')") == [True, True, True, False]
    assert kept([0, 0, 0, -1.0], "m2po(form='clip')") == [True] * 4, "moved against the advantage"
    assert kept([0.3] * 4, "m2po(form='clip')") == [True] * 4, "the bound is no tighter than 1.5"
    with pytest.raises(HarnessError, match="form"):
        kept(OLD[0], "m2po(form='drop')")


def test_the_bound_brings_the_moment_within_the_budget():
    x = torch.tensor([[0.1, 0.4, 0.9, 2.0, 7.0]], dtype=torch.float64)
    where = torch.tensor([[True, True, True, True, False]])
    bound = moment_bound(x, where, 0.2)
    assert bound == pytest.approx(0.4)
    assert x[where].clamp_max(float(bound)).square().mean() <= 0.2
    assert moment_bound(x, where, 5.0).isinf()
    assert moment_bound(x, where & False, 0.2).isinf()
