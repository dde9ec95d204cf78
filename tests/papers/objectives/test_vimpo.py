import numpy as np
import pytest

from harness import probe
from tests.papers.steps import before_update, begun, take

FIELDS = {
    "logp_old": [[-1.0, -1.0], [-2.0, -1.0]], "logp_ref": [[-1.0, -2.0], [-1.0, -1.0]], "mask": [[1, 1], [1, 1]],
    "rewards": [1, 0], "group": [0, 0],
}  # fmt: skip


def test_td_errors_are_summed_to_the_end_and_whitened():
    fields = {name: value for name, value in FIELDS.items() if name not in {"rewards", "group"}}
    found = probe.advantages("vimpo", [1, 0], [0, 0], vimpo_kl=[[0.5, 0.5], [0.0, 0.0]], **fields)
    ahead = np.array([[0.0, 0.5], [-1.0, 0.0]])
    assert found == pytest.approx((ahead - ahead.mean()) / ahead.std(ddof=1), abs=1e-1)
    assert found.mean() == pytest.approx(0)


def test_the_value_is_fitted_to_the_centred_reward():
    logp = [[-1.0, -1.0], [-2.0, -1.0]]
    loss, slope = probe.loss("vimpo(beta=0.5, actor=0.0)", logp=logp, vimpo_kl=[[0.2, 0], [0, 0]], **FIELDS)
    errors = np.array([0.5 * (1 - 0.2) - 0.5, 0.5 * -1 + 0.5])
    assert loss == pytest.approx((errors**2).sum() / 4)
    assert slope == pytest.approx(np.repeat(errors[:, None] * 0.5 / 2, 2, 1))


def test_at_the_reference_there_is_nothing_to_act_on():
    trial = begun("vimpo")
    batch = before_update(trial)
    assert not batch.extras["vimpo_kl"].any()
    assert not batch.advantages.any()
    take(trial, 2)
    assert before_update(trial, 2).extras["vimpo_kl"].max() > 0
