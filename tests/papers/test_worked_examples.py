"""Every method on the small numbers of its paper, or worked by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from harness_papers.critics.ppo import PPO

from harness import probe
from tests.batches import make_batch

approx = pytest.approx
ONE_OF_FOUR = [1.0, 0.0, 0.0, 0.0]
GROUP = [0, 0, 0, 0]


def advantages(method, rewards, group=None, **fields):
    return probe.advantages(method, rewards, [0] * len(rewards) if group is None else group, **fields)


def test_one_right_answer_of_four_in_trees():
    assert advantages("tree-grpo", ONE_OF_FOUR).tolist() == approx([1.5, -0.5, -0.5, -0.5], abs=1e-5)


class TestGDPO:
    def test_two_prompts_with_other_sums(self):
        rewards, group = [[0, 0], [1, 0], [0, 0], [1, 1]], [0, 0, 1, 1]
        got = advantages("gdpo", rewards, group)
        assert got.tolist() == approx([-0.5477, 0.5477, -1.0954, 1.0954], abs=2e-4)

    def test_more_profiles_than_summing(self):
        rewards = [[1, 0], [0, 1], [0, 1], [0, 0]]
        assert advantages("grpo", rewards).tolist() == approx([0.5, 0.5, 0.5, -1.5], abs=1e-5)
        combined = np.array([0.634, 0.366, 0.366, -1.366])
        got = advantages("gdpo", rewards)
        assert got == approx(combined / combined.std(ddof=1), abs=1e-3)

    def test_columns_may_be_scaled(self):
        rewards = np.array([[1.0, 0.2], [0.0, 0.9], [0.5, 0.4], [0.0, 0.1]])
        assert advantages("gdpo", rewards * [5, 2] + 1) == approx(advantages("gdpo", rewards), abs=1e-3)

    def test_missing_rewards_are_left_out(self):
        got = advantages("gdpo", [[1, None], [0, None], [None, None], [1, 0.5], [0, 0.25]], [0, 0, 0, 1, 1])
        assert np.isfinite(got).all()
        assert got[2] == 0
        assert got[0] == approx(-got[1])


class TestSurrogates:
    mask = ((1.0, 1.0, 1.0),)

    def one(self, method, ratios, advantage, **params):
        logp = [[math.log(r) for r in ratios]]
        mask = [[1.0] * len(ratios)]
        return probe.token_loss(
            method, logp=logp, logp_old=[[0.0] * len(ratios)], advantages=[advantage], mask=mask, params=params or None
        )

    def test_gspo_clips_the_whole_completion(self):
        loss, gradient = self.one("gspo", np.exp([0.2, -0.1, 0.2]), 1.0)
        assert loss[0].tolist() == approx([-1.0004] * 3)
        assert gradient[0].tolist() == [0.0, 0.0, 0.0]
        loss, gradient = self.one("gspo", np.exp([0.2, -0.1, 0.2]), -1.0)
        assert loss[0].tolist() == approx([math.exp(0.1)] * 3)
        assert gradient[0].tolist() == approx([math.exp(0.1)] * 3)

    def test_cispo_caps_the_weight_and_keeps_the_gradient(self):
        _, gradient = self.one("cispo", [3.0], 1.0, cap=2.0)
        assert gradient[0, 0] == approx(-2.0)

    def test_reinforce_has_no_ratio(self):
        _, gradient = self.one("reinforce", [3.0], 1.0)
        assert gradient[0, 0] == -1.0

    @pytest.mark.parametrize("advantage", [1.0, -1.0])
    @pytest.mark.parametrize("method", ["grpo", "dapo", "gspo", "cispo", "reinforce", "rloo", "remax", "reinforce-pp"])
    def test_all_agree_where_the_policy_has_not_moved(self, method, advantage):
        _, gradient = self.one(method, [1.0, 1.0, 1.0], advantage)
        assert gradient[0].tolist() == approx([-advantage] * 3)


class TestWeights:
    mask = ((1, 1, 0, 0), (1, 1, 1, 1))
    losses = np.array([[1.0, 1.0, 0, 0], [0.5, 0.5, 0.5, 0.5]])

    @pytest.mark.parametrize(
        ("method", "loss"),
        [
            ("dapo", 2 / 3), ("cispo", 2 / 3), ("reinforce-pp", 2 / 3), ("grpo", 0.75), ("gspo", 0.75),
            ("reinforce", 2.0), ("rloo", 2.0), ("dr-grpo", 0.5), ("dr-grpo(length=8)", 0.25),
        ],
    )  # fmt: skip
    def test_lengths_two_and_four(self, method, loss):
        assert (probe.weights(method, self.mask) * self.losses).sum() == approx(loss)

    def test_delta_l(self):
        shares = probe.weights("delta-l(length=1)", self.mask)
        assert shares[:, 0].tolist() == approx([2 / 3, 1 / 3])
        assert probe.weights("delta-l(alpha=0)", self.mask) == approx(probe.weights("dr-grpo", self.mask))
        equal = [[1, 1], [1, 1], [1, 1]]
        assert probe.weights("delta-l", equal) == approx(probe.weights("dr-grpo", equal))
        # With alpha = 1 every completion has the same share of the whole weight.
        assert shares.sum(1).tolist() == approx([4 / 3, 4 / 3])

    @pytest.mark.parametrize("method", ["dapo", "cispo", "grpo", "reinforce", "dr-grpo", "delta-l", "delta-l(alpha=0)"])
    def test_rows_left_out_of_the_loss_dilute_nothing(self, method):
        alone = probe.weights(method, self.mask, max_tokens=4)
        beside = probe.weights(method, [*self.mask, [0, 0, 0, 0]], lengths=[2, 4, 3], max_tokens=4)
        assert beside[:2] == approx(alone)
        assert not beside[2:].any()
        assert not probe.weights(method, [[0, 0], [0, 0]], lengths=[2, 1]).any()

    def test_the_constant_is_not_the_padded_width(self):
        padded = [[*row, 0, 0, 0] for row in self.mask]
        for method in ("dr-grpo", "delta-l"):
            narrow = probe.weights(method, self.mask, max_tokens=40)
            assert probe.weights(method, padded, max_tokens=40)[:, :4] == approx(narrow)


class TestRewards:
    def test_a_coin_replaces_the_reward(self):
        rewards = [[1.0, 0.5]] * 64
        columns = probe.rewards("random-reward", rewards, [0] * 64)
        coin = columns["coin"]
        assert set(coin) == {0.0, 1.0}
        assert 16 < coin.sum() < 48


class TestPPO:
    @pytest.mark.parametrize(("lam", "expected"), [(1.0, [0.5, 0.5, 0.5]), (0.5, [0.125, 0.25, 0.5])])
    def test_generalized_advantages(self, lam, expected):
        got = advantages("ppo(whiten=False)", [1.0], params={"lam": lam}, mask=[[1, 1, 1]], values=[[0.5, 0.5, 0.5]])
        assert got[0].tolist() == approx(expected)

    def test_without_values_it_is_reinforce(self):
        got = advantages("ppo(whiten=False)", [1.0, 0.25], mask=[[1, 1], [1, 0]], values=[[0.0, 0.0], [0.0, 0.0]])
        assert got.tolist() == [[1, 1], [0.25, 0]]

    def test_tokens_that_do_not_train_stay_in_the_returns_of_the_others(self):
        plugin = PPO(lam=0.5)
        values = torch.tensor([[0.5, 0.25, 0.75]], dtype=torch.float64)
        batch = make_batch([1.0], lengths=[3])
        policy = SimpleNamespace(evaluate=lambda _: SimpleNamespace(modules={"critic": values}))
        batch = batch.with_extras(**plugin.annotate(batch, policy))
        output = SimpleNamespace(modules={"critic": values})
        whole = plugin.regularize(batch, output)
        some = plugin.regularize(batch.replace(mask=batch.mask * torch.tensor([[1.0, 1.0, 0.0]])), output)
        assert whole[0].tolist() == approx([0.001953125, 0.1953125, 0.03125])
        assert some[0].tolist() == approx([0.001953125, 0.1953125, 0.0])
