import numpy as np
import pytest

from harness import probe

FIELDS = {"logp": [[-1.0002, -1.0002]] * 2 + [[-1.0, -1.0]], "logp_old": [[-1.0, -1.0]] * 3,
          "logp_sampler": [[-1.0, -1.0]] * 3, "mask": [[1, 1], [1, 1], [1, 0]]}  # fmt: skip


def rows(stack, **fields):
    gradient = probe.objective(stack, **FIELDS | fields, advantages=[-1.0, 1.0, -1.0])[1]
    return gradient.any(1).tolist()


def test_only_negative_completions_that_drifted_are_dropped():
    assert rows("grpo(beta=0)+opsm") == [False, True, True]
    assert rows("grpo(beta=0)+opsm(delta=3e-4)") == [True, True, True]


def test_drift_is_measured_against_the_sampler_or_the_start_of_the_step():
    sampler = [[-1.1, -1.1]] * 3
    assert rows("grpo(beta=0)+opsm", logp_sampler=sampler) == [True, True, True]
    assert rows("grpo(beta=0)+opsm(against='old')", logp_sampler=sampler) == [False, True, True]


@pytest.mark.parametrize(("aggregator", "factor"), [("token-mean", 5 / 3), ("seq-mean-token-mean", 3 / 2)])
def test_the_divisor_may_leave_out_what_is_dropped(aggregator, factor):
    fields = {**FIELDS, "advantages": [-1.0, 1.0, -1.0]}
    whole = probe.objective(f"{aggregator}+opsm", **fields)
    rest = probe.objective(f"{aggregator}+opsm(denominator='kept')", **fields)
    assert rest[0] == pytest.approx(factor * whole[0])
    np.testing.assert_allclose(rest[1], factor * whole[1])
