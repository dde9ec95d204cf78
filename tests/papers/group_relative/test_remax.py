import pytest

from harness import probe
from harness.errors import HarnessError
from tests.papers.worked import advantages, approx

FIELDS = {"mask": [[1, 1], [1, 0]], "params": {"beta": 0}}


def test_the_greedy_answer_is_the_baseline():
    right = advantages("remax", [1.0, 0.0], greedy_reward=[1.0, 1.0], **FIELDS)
    assert right.tolist() == [[0, 0], [-1, 0]]
    assert advantages("remax", [1.0, 0.0], greedy_reward=[0.0, 0.0], **FIELDS).tolist() == [[1, 1], [0, 0]]
    with pytest.raises(HarnessError, match="greedy_reward"):
        advantages("remax", [1.0, 0.0], **FIELDS)


def test_rewards_count_from_the_token_on():
    got = advantages("remax(beta=0)", None, [0], token_rewards=[[0.5, 1.0]], mask=[[1, 1]], greedy_reward=[1.0])
    assert got.tolist() == [[0.5, 0.0]]


def test_the_kl_penalty_is_in_the_return_and_not_in_the_baseline():
    fields = {"mask": [[1, 1, 0]], "logp_old": [[-1.0, -2.0, -9.0]], "logp_ref": [[-1.5, -1.0, 0.0]]}
    columns = probe.rewards("remax(beta=0.1)", [1.0], [0], **fields)
    assert columns["kl"][0].tolist() == approx([0.5, -1.0, 0.0])
