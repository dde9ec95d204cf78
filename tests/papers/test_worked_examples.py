"""Every method on the small numbers of its paper, or worked by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from harness_papers.critics.ppo import PPO

from harness import probe
from harness.errors import PluginError, UsageError
from tests.batches import make_batch

approx = pytest.approx
ONE_OF_FOUR = [1.0, 0.0, 0.0, 0.0]
GROUP = [0, 0, 0, 0]


def advantages(method, rewards, group=None, **fields):
    return probe.advantages(method, rewards, [0] * len(rewards) if group is None else group, **fields)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("reinforce", [0.75, -0.25, -0.25, -0.25]),
        ("reinforce(leave_one_out=True)", [1, -1 / 3, -1 / 3, -1 / 3]),
        ("rloo(beta=0)", [1, -1 / 3, -1 / 3, -1 / 3]),
        ("grpo", [1.5, -0.5, -0.5, -0.5]),
        ("grpo(scale='none')", [0.75, -0.25, -0.25, -0.25]),
        ("grpo(scale='batch')", [1.5, -0.5, -0.5, -0.5]),
        ("dr-grpo", [0.75, -0.25, -0.25, -0.25]),
        ("dapo", [1.5, -0.5, -0.5, -0.5]),
        ("raft", [1, 0, 0, 0]),
        ("f-grpo(gamma=1)", [1.125, -0.375, -0.375, -0.375]),
        ("f-grpo(gamma=0)", [1.5, -0.5, -0.5, -0.5]),
        ("tree-grpo", [1.5, -0.5, -0.5, -0.5]),
    ],
)
def test_one_right_answer_of_four(method, expected):
    assert advantages(method, ONE_OF_FOUR).tolist() == approx(expected, abs=1e-5)


class TestBaselines:
    def test_reinforce_compares_prompts_and_grpo_does_not(self):
        rewards, group = [1.0, 1.0, 0.0, 0.0], [0, 0, 1, 1]
        assert advantages("reinforce", rewards, group).tolist() == [0.5, 0.5, -0.5, -0.5]
        assert advantages("grpo", rewards, group).tolist() == [0.0, 0.0, 0.0, 0.0]

    def test_rloo_is_dr_grpo_times_a_factor(self):
        rewards = [0.3, 0.9, -0.4, 0.1]
        assert advantages("rloo", rewards) == approx(4 / 3 * advantages("dr-grpo", rewards))

    def test_remax_compares_with_the_greedy_answer(self):
        fields = {"mask": [[1, 1], [1, 0]], "params": {"beta": 0}}
        right = advantages("remax", [1.0, 0.0], greedy_reward=[1.0, 1.0], **fields)
        assert right.tolist() == [[0, 0], [-1, 0]]
        assert advantages("remax", [1.0, 0.0], greedy_reward=[0.0, 0.0], **fields).tolist() == [[1, 1], [0, 0]]
        with pytest.raises(PluginError, match="greedy_reward"):
            advantages("remax", [1.0, 0.0], **fields)

    def test_reinforce_pp_counts_tokens(self):
        got = advantages("reinforce-pp", [1.0, 0.0], [0, 1], mask=[[1, 0, 0], [1, 1, 1]])
        assert got[0, 0] == approx(1.5)
        assert got[1].tolist() == approx([-0.5, -0.5, -0.5])

    def test_raft_keeps_what_was_rewarded(self):
        assert advantages("raft", [1.0, -1.0, -1.0, 1.0]).tolist() == [1, 0, 0, 1]
        formatted = [[1.0, 0.2], [0.0, 0.2]]  # a wrong answer in the right format
        assert advantages("raft", formatted).tolist() == approx([1.2, 0.2])
        assert advantages("raft(only_correct=True)", formatted).tolist() == approx([1.2, 0.0])

    def test_grpo_is_blind_to_scale_and_shift(self):
        rewards = np.array([0.3, 0.9, -0.4, 0.1])
        assert advantages("grpo", 7 * rewards + 3) == approx(advantages("grpo", rewards), abs=1e-4)

    def test_an_unknown_scale_is_refused(self):
        with pytest.raises((PluginError, UsageError), match="'group', 'batch'"):
            advantages("grpo(scale='groop')", ONE_OF_FOUR)


class TestMCGRPO:
    def test_the_median_is_the_baseline(self):
        assert advantages("mc-grpo", [1.0, 0.5, 0.0]).tolist() == approx([1.5 * 0.998, 0, -1.5 * 0.998], abs=1e-3)

    def test_binary_rewards_blow_up_as_published(self):
        assert advantages("mc-grpo", [1.0, 0.0, 0.0]).tolist() == approx([3000.0, 0, 0])
        assert advantages("mc-grpo(mad_floor=0.999)", [1.0, 0.0, 0.0]).tolist() == approx([3.0, 0, 0])
        assert advantages("mc-grpo(rescale=False)", [1.0, 0.0, 0.0]).tolist() == approx([1000.0, 0, 0])


class TestFGRPO:
    @pytest.mark.parametrize(("gamma", "factor"), [(0.5, 0.3536), (1.0, 0.125)])
    def test_seven_of_eight(self, gamma, factor):
        rewards = [1.0] * 7 + [0.0]
        focal = advantages("f-grpo", rewards, params={"gamma": gamma})
        assert focal == approx(factor * advantages("grpo(beta=0)", rewards), abs=1e-3)

    def test_wraps_token_advantages_too(self):
        fields = {"mask": [[1, 1], [1, 0], [1, 1]], "greedy_reward": [0.0] * 3}
        plain = advantages("remax(beta=0)", [1.0, 0.0, 0.0], **fields)
        assert advantages("remax(beta=0)+f-grpo(gamma=1)", [1.0, 0.0, 0.0], **fields) == approx(2 / 3 * plain)


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

    def test_grpo_clips_symmetrically(self):
        loss, gradient = self.one("grpo", [1.5, 0.5, 1.1], 1.0)
        assert loss[0].tolist() == approx([-1.2, -0.5, -1.1])
        assert gradient[0].tolist() == approx([0.0, -0.5, -1.1])

    def test_dapo_clips_higher(self):
        loss, gradient = self.one("dapo", [1.25, 1.5], 1.0)
        assert loss[0].tolist() == approx([-1.25, -1.28])
        assert gradient[0].tolist() == approx([-1.25, 0.0])

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

    def test_rloo_of_trl_clips_the_product_of_ratios(self):
        loss, gradient = self.one("rloo", [1.1, 1.2], 1.0, clip=0.2)
        assert loss.sum() == approx(-1.2)
        assert gradient.sum() == 0
        loss, gradient = self.one("rloo", [1.1, 1.05], 1.0, clip=0.2)
        assert loss.sum() == approx(-1.155)
        assert gradient[0].tolist() == approx([-1.155, -1.155])


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
    @pytest.mark.parametrize(("length", "penalty"), [(10, 0), (80, 0), (90, -0.5), (100, -1), (101, -1)])
    def test_soft_overlong_punishment(self, length, penalty):
        columns = probe.rewards("dapo", [1.0], [0], lengths=[length], max_tokens=100)
        assert columns["overlong"].tolist() == approx([penalty])

    def test_no_buffer_no_punishment(self):
        assert list(probe.rewards("dapo(overlong=0)", [1.0], [0], lengths=[100], max_tokens=100)) == ["0"]

    @pytest.mark.parametrize("method", ["rloo(beta=0.1)", "remax(beta=0.1)", "reinforce-pp(beta=0.1)"])
    def test_the_kl_penalty_sits_on_the_tokens(self, method):
        columns = probe.rewards(
            method, [1.0], [0], mask=[[1, 1, 0]], logp_old=[[-1.0, -2.0, -9.0]], logp_ref=[[-1.5, -1.0, 0.0]]
        )
        assert columns["kl"][0].tolist() == approx([0.5, -1.0, 0.0])

    def test_a_coin_replaces_the_reward(self):
        rewards = [[1.0, 0.5]] * 64
        columns = probe.rewards("random-reward", rewards, [0] * 64)
        coin = columns["coin"]
        assert set(coin) == {0.0, 1.0}
        assert 16 < coin.sum() < 48


class TestObjectives:
    logp = ((-0.5, -1.0), (-0.25, -2.0))
    mask = ((1.0, 1.0), (1.0, 0.0))

    def test_raft_is_weighted_cross_entropy_over_all_tokens(self):
        fields = {"logp": self.logp, "logp_old": self.logp, "group": [0, 0], "mask": self.mask}
        value, gradient = probe.loss("raft", rewards=[1.0, -1.0], **fields)
        assert value == approx(1.5 / 3)
        assert gradient.tolist() == [approx([-1 / 3, -1 / 3]), [0, 0]]
        value, _ = probe.loss("raft(only_accepted=True)", rewards=[1.0, -1.0], **fields)
        assert value == approx(1.5 / 2)
        value, gradient = probe.loss("raft(only_accepted=True)", rewards=[-1.0, -1.0], **fields)
        assert value == 0
        assert not gradient.any()

    def test_grpo_penalises_the_kl_in_the_loss(self):
        value, gradient = probe.regularizer("grpo(beta=1)", logp=[[0.5, 9.0]], logp_ref=[[0.0, 0.0]], mask=[[1.0, 0.0]])
        assert value == approx(0.106531, abs=1e-6)
        assert gradient[0].tolist() == approx([0.393469, 0.0], abs=1e-6)
        value, gradient = probe.regularizer("grpo(beta=0)", logp=[[0.5]], mask=[[1.0]])
        assert value == 0
        assert not gradient.any()
        with pytest.raises(PluginError, match="logp_ref"):
            probe.regularizer("grpo", logp=[[0.5]], mask=[[1.0]])


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
