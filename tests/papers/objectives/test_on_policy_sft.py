import numpy as np
import pytest
from harness_papers.objectives.on_policy_sft import OnPolicySFT

from harness import probe
from harness.policies.rollouts import Request

approx = pytest.approx
FIELDS = {
    "logp": [[-1.0, -2.0], [-3.0, 0.0], [-4.0, -5.0]], "logp_old": [[-1.0, -2.0], [-3.0, 0.0], [-4.0, -5.0]],
    "mask": [[1, 1], [1, 0], [1, 1]], "group": [0, 0, 0],
}  # fmt: skip


def test_the_likelihood_of_what_is_right_and_finished():
    value, gradient = probe.objective("on-policy-sft", rewards=[1, 1, 0], **FIELDS)
    assert value == approx(2)
    assert gradient == approx(np.array([[-1, -1], [-1, 0], [0, 0]]) / 3)
    cut, _ = probe.objective("on-policy-sft", rewards=[1, 1, 0], truncated=[False, True, False], **FIELDS)
    assert cut == approx(1.5)


def test_all_right_trains_and_all_wrong_does_not():
    assert probe.objective("on-policy-sft", rewards=[1, 1, 1], **FIELDS)[0] == approx(3)
    assert not probe.objective("on-policy-sft", rewards=[0, 0, 0], **FIELDS)[1].any()


def test_the_budget_is_a_share_of_the_limit():
    wrapper = OnPolicySFT(budget=0.25).allocate_rollouts()
    next(wrapper)
    with pytest.raises(StopIteration) as stopped:
        wrapper.send([Request("a", (1,), 4, max_tokens=40)])
    assert stopped.value.value[0].max_tokens == 10
