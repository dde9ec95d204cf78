import numpy as np
import pytest

from harness import probe
from harness.errors import UsageError

GAPS = np.array([[0.1, -0.3], [0.0, 0.05]])  # log of learner over sampler
FIELDS = {"logp_old": np.zeros((2, 2)), "logp_sampler": -GAPS, "mask": [[1, 1], [1, 1]]}


def kept(**params):
    return probe.train_on("rollout-rejection", **FIELDS, params=params).tolist()


def test_k1_is_the_log_of_sampler_over_learner():
    assert kept(measure="k1", level="token", low=-0.07, high=0.2) == [[False, False], [True, True]]
    assert kept(measure="k1", level="sum", low=-0.07, high=0.2) == [[True, True], [True, True]]


def test_k2_and_k3_are_never_negative():
    assert kept(measure="k2", level="token", high=0.0049) == [[False, False], [True, True]]
    assert kept(measure="k2", level="max", high=0.01) == [[False, False], [True, True]]
    k3 = np.exp(GAPS) - 1 - GAPS
    assert kept(measure="k3", level="mean", high=k3[0].mean() + 1e-9) == [[True, True], [True, True]]
    assert kept(measure="k3", level="mean", high=k3[0].mean() - 1e-9) == [[False, False], [True, True]]


def test_several_tests_must_all_pass():
    stack = "rollout-rejection(measure='k1', level='token', high=0.2)+rollout-rejection(measure='k2', level='token', "
    assert probe.train_on(stack + "high=0.001)", **FIELDS).tolist() == [[False, False], [True, False]]


def test_the_divisor_may_stay():
    more = {**FIELDS, "logp": np.zeros((2, 2)), "advantages": [-1.0, -1.0]}
    reject = "rollout-rejection(level='max', high=0.01"
    assert probe.objective(f"token-mean+{reject})", **more)[0] == pytest.approx(1)
    assert probe.objective(f"token-mean+{reject}, denominator='all')", **more)[0] == pytest.approx(0.5)


def test_choices_are_checked():
    with pytest.raises(UsageError, match="measure"):
        kept(measure="k4")
