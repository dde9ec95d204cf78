"""Worked examples of what stands beside a policy loss: aggregators, KL terms, the surrogate's switches."""

from __future__ import annotations

import numpy as np
import pytest

from harness import probe
from harness.errors import HarnessError

MASK = [[1, 1, 0, 0], [1, 1, 1, 1]]  # lengths 2 and 4
LOSSES = np.array([[1.0, 1.0, 9.0, 9.0], [0.5, 0.5, 0.5, 0.5]])
EMPTY = [*MASK, [0, 0, 0, 0]]


def aggregated(method, mask=MASK, losses=LOSSES, **fields):
    return (probe.weights(method, mask, **fields) * losses).sum()


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("token-mean", 4 / 6),
        ("token-mean(tokens=8)", 0.5),
        ("seq-mean-token-mean", 0.75),
        ("seq-mean-token-mean(rows=4)", 0.375),
        ("seq-mean-token-sum", 2.0),
        ("seq-mean-token-sum-norm(length=4)", 0.5),
        ("seq-mean-token-sum-norm(length=4, rows=1)", 1.0),
        ("token-sum", 4.0),
        ("token-sum(scale=0.5)", 2.0),
    ],
)
def test_aggregators(method, value):
    assert aggregated(method) == pytest.approx(value)


@pytest.mark.parametrize("method", ["seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"])
def test_an_empty_completion_is_skipped_or_dilutes(method):
    losses = np.vstack([LOSSES, np.zeros((1, 4))])
    skipped = aggregated(f"{method}(empty='skip')", EMPTY, losses)
    assert aggregated(f"{method}(empty='count')", EMPTY, losses) == pytest.approx(skipped * 2 / 3)
    with pytest.raises(HarnessError, match="choose 'skip' or 'count'"):
        probe.weights(f"{method}(empty='maybe')", MASK)


@pytest.mark.parametrize("method", ["token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "token-sum"])
def test_nothing_to_train_weighs_nothing(method):
    assert not probe.weights(method, [[0, 0], [0, 0]]).any()


def test_delta_l_puts_the_same_weights_on_the_loss_or_on_the_advantages():
    mask = [[1, 1, 0, 0], [1, 1, 1, 1]]
    on_loss = probe.weights("delta-l(alpha=1, length=4)", mask)
    assert on_loss[:, 0] * 4 == pytest.approx([2 / 3, 1 / 3])
    text = "dr-grpo+delta-l(alpha=1, length=4, advantages=True)"
    advantages = probe.advantages(text, [1, 0], [0, 0], mask=mask)
    assert advantages == pytest.approx([0.5 * 4 / 3, -0.5 * 2 / 3])
    assert (probe.weights(text, mask) * advantages[:, None])[:, 0] == pytest.approx(on_loss[:, 0] * [0.5, -0.5])


# -- KL --------------------------------------------------------------------------------------------------------------


def kl(kind, x=0.5, **more):
    written = "".join(f", {name}={value!r}" for name, value in more.items())
    terms, gradient = probe.token_penalty(
        f"kl(beta=1, kind={kind!r}{written})", logp=[[-1.0]], logp_old=[[-1.2]], logp_ref=[[-1.0 - x]], mask=[[1]]
    )
    return terms[0, 0], gradient[0, 0]


@pytest.mark.parametrize(
    ("kind", "value", "slope"),
    [
        ("k1", 0.5, 1.0),
        ("k2", 0.125, 0.5),
        ("k3", 0.1065307, 0.3934693),
        ("abs", 0.5, 1.0),
        ("k1+", 0.5, 0.5),
        ("k3+", 0.1065307, 0.5),
    ],
)
def test_kl_estimators_and_their_slopes(kind, value, slope):
    assert kl(kind) == pytest.approx((value, slope))


def test_a_kl_that_is_cut_off_has_no_slope():
    assert kl("k3", x=-3.0, limit=10.0) == (10.0, 0.0)
    assert kl("low_var", x=-3.0) == (10.0, 0.0)
    assert kl("k1", x=-30.0, limit=10.0) == (-10.0, 0.0)


def test_the_weights_of_a_kl_term():
    ratio = np.exp(0.2)
    assert kl("k2", weight="ratio") == pytest.approx((ratio / 8, ratio * (0.5 + 1 / 8)))
    assert kl("k2", weight="ratio", weight_cap=1.0) == pytest.approx((1 / 8, 0.5))
    assert kl("k2", weight="score") == pytest.approx((1 / 8, 0.5 + 1 / 8))


def test_choices_of_a_kl_term_are_checked():
    with pytest.raises(HarnessError, match=r"kl\(kind='k4'\): choose k1"):
        kl("k4")
    with pytest.raises(HarnessError, match="weight='much'"):
        kl("k3", weight="much")


def test_a_kl_in_the_reward_follows_its_target():
    from harness_papers.objectives.kl_in_reward import KLReward

    from harness.probe_inputs import plain_batch

    plugin = KLReward(beta=0.1, target=0.5, horizon=10)
    plugin.start()
    far = plain_batch({"mask": [[1.0], [1.0]], "logp_old": [[-1.0], [-1.0]], "logp_ref": [[-3.0], [-3.0]]})
    metrics = plugin.end_step(far)
    assert metrics == pytest.approx({"kl_reward/coefficient": 0.1 * (1 + 0.2 * 2 / 10), "kl_reward/kl": 2.0})
    near = plain_batch({"mask": [[1.0]], "logp_old": [[-1.0]], "logp_ref": [[-1.45]]})
    assert plugin.end_step(near)["kl_reward/coefficient"] == pytest.approx(0.104 * (1 - 0.1 / 10))


def test_a_kl_in_the_reward_without_a_target_keeps_its_weight():
    totals, tokens = probe.total_reward(
        "kl-reward(beta=0.5)", [1.0], [0], mask=[[1, 1, 0]], logp_old=[[-1, -1, 0]], logp_ref=[[-2, -1, 9]]
    )
    assert totals == pytest.approx([0.5])
    assert tokens == pytest.approx(np.array([[-0.5, 1.0, 0.0]]))


# -- the surrogate ---------------------------------------------------------------------------------------------------


def surrogate(parameters, advantage, log_ratio):
    losses, gradient = probe.token_loss(
        f"ppo-clip({parameters})", logp=[[log_ratio]], logp_old=[[0.0]], advantages=[advantage], mask=[[1]]
    )
    return losses[0, 0], gradient[0, 0]


def test_ppo_clip_and_its_switches():
    three = np.log(3.0)
    assert surrogate("", 1.0, three) == pytest.approx((-1.2, 0.0))
    assert surrogate("clip_high=0.5", 1.0, three) == pytest.approx((-1.5, 0.0))
    assert surrogate("", -1.0, three) == pytest.approx((3.0, 3.0))
    assert surrogate("dual=2.0", -1.0, three) == pytest.approx((2.0, 0.0))
    assert surrogate("cap=2.5", -1.0, three) == pytest.approx((2.5, 0.0))
    assert surrogate("", -1.0, 30.0) == pytest.approx((np.exp(20.0), 0.0))
    assert surrogate("log_limit=None", -1.0, 30.0)[0] == pytest.approx(np.exp(30.0))


# -- groups of one, missing rewards ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["grpo(beta=0, single={!r})", "dr-grpo(single={!r})", "rloo(beta=0, single={!r})"])
def test_a_group_of_one_gets_nothing_or_keeps_its_reward(method):
    rewards, group = [0.5, 1.0, 0.0], [7, 8, 8]
    assert probe.advantages(method.format("zero"), rewards, group)[0] == 0
    assert probe.advantages(method.format("raw"), rewards, group)[0] == pytest.approx(0.5)
    with pytest.raises(HarnessError, match="choose 'zero' or 'raw'"):
        probe.advantages(method.format("all"), rewards, group)


@pytest.mark.parametrize("method", ["grpo(beta=0)", "grpo(beta=0, scale='batch')", "dr-grpo", "rloo(beta=0)"])
def test_a_completion_without_any_reward_is_no_part_of_its_group(method):
    rewards = [[1.0, None], [0.0, None], [None, None], [None, 0.25]]
    with_it = probe.advantages(method, rewards, [0, 0, 0, 0])
    without = probe.advantages(method, [rewards[row] for row in (0, 1, 3)], [0, 0, 0])
    assert with_it[2] == 0
    assert with_it[[0, 1, 3]] == pytest.approx(without)
