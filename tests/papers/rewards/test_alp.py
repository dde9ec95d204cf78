import pytest

from harness import probe

approx = pytest.approx


def test_tokens_cost_the_pass_rate_and_a_floor():
    fields = {"lengths": [4000, 1000, 2000, 3000], "group": [0, 0, 1, 1], "rewards": [1, 0, 0, 0]}
    assert probe.rewards("alp", **fields)["token_charge"] == approx([2000, 500, 1000, 1500])
    assert probe.total_reward("alp", **fields)[0] == approx([0.9998, -0.00005, -0.0001, -0.00015])


def test_no_price_is_plain_correctness():
    assert set(probe.rewards("alp(beta=0)", [1, 0], None, lengths=[3, 4])) == {"0"}


def test_all_correct_ranks_by_length_whatever_the_price():
    fields = {"rewards": [1, 1, 1], "group": [0, 0, 0], "lengths": [100, 200, 300]}
    cheap, dear = (
        probe.advantages(f"grpo(beta=0, eps=1e-12)+alp(beta={beta})", shaped=True, **fields) for beta in (1e-5, 1e-2)
    )
    assert cheap == approx([1, 0, -1], abs=1e-4)
    assert cheap == approx(dear, abs=1e-4)
