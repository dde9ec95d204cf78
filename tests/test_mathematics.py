"""Shared formulas against the catalogue of worked examples and against loops."""

import math

import pytest
import torch

from harness import Groups
from harness import mathematics as m


def rows(*values):
    return torch.tensor(values, dtype=torch.float64)


def slope(function, *values):
    x = rows(*values).requires_grad_()
    function(x).sum().backward()
    return x.grad.tolist()


class TestSurrogate:
    @pytest.mark.parametrize(
        ("ratio", "advantage", "loss", "gradient"),
        [(1.5, 1, -1.2, 0), (0.5, 1, -0.5, -1), (0.5, -1, 0.8, 0), (1.5, -1, 1.5, 1), (2.0, 0, 0, 0)],
    )
    def test_worked_examples(self, ratio, advantage, loss, gradient):
        x = rows(ratio).requires_grad_()
        got = m.ppo_clip_loss(x, rows(advantage))
        got.backward()
        assert got.item() == pytest.approx(loss)
        assert x.grad.item() == gradient

    def test_two_bounds(self):
        assert m.ppo_clip_loss(rows(1.5), rows(1), 0.2, 0.28).item() == pytest.approx(-1.28)

    def test_dual_clip_bounds_negative_advantages(self):
        assert m.ppo_clip_loss(rows(5.0), rows(-1.0), dual=3.0).item() == 3.0
        assert slope(lambda r: m.ppo_clip_loss(r, rows(-1.0), dual=3.0), 5.0) == [0.0]
        assert m.ppo_clip_loss(rows(5.0), rows(-1.0)).item() == 5.0
        assert m.ppo_clip_loss(rows(1.1), rows(1.0), dual=3.0).item() == pytest.approx(-1.1)


class TestSequenceRatio:
    def test_mean_of_the_tokens_that_count(self):
        log_ratio, mask = rows([0.2, -0.1, 0.2, 9.0], [0.0, 0.0, 0.0, 0.0]), rows([1, 1, 1, 0], [0, 0, 0, 0])
        assert m.sequence_log_ratio(log_ratio, mask)[:, 0].tolist() == pytest.approx([0.1, 0.0])
        assert m.sequence_log_ratio(log_ratio, mask, normalize=False)[0, 0].item() == pytest.approx(0.3)


class TestKL:
    @pytest.mark.parametrize(
        ("kind", "value", "gradient"),
        [("k1", 0.5, 1.0), ("k2", 0.125, 0.5), ("k3", 0.106531, 0.393469), ("abs", 0.5, 1.0)],
    )
    def test_worked_examples(self, kind, value, gradient):
        assert m.kl_estimate(rows(0.5), rows(0.0), kind).item() == pytest.approx(value, abs=1e-6)
        assert slope(lambda x: m.kl_estimate(x, rows(0.0), kind), 0.5) == pytest.approx([gradient], abs=1e-6)

    def test_extremes_stay_finite(self):
        x = torch.tensor([-200.0], requires_grad=True)
        value = m.kl_estimate(x, torch.zeros(1))
        value.backward()
        assert math.isfinite(value.item())
        assert math.isfinite(x.grad.item())

    def test_low_var_is_cut_off(self):
        assert m.kl_estimate(rows(-4.0), rows(0.0), "low_var").item() == 10.0
        assert slope(lambda x: m.kl_estimate(x, rows(0.0), "low_var"), -4.0) == [0.0]
        assert m.kl_estimate(rows(0.5), rows(0.0), "low_var") == m.kl_estimate(rows(0.5), rows(0.0))

    def test_gradients_in_expectation(self):
        """On a toy policy k2 has the slope of the reverse KL, k3 that of the forward KL, k1 none."""
        logits = torch.tensor([0.3, -0.2, 0.9], dtype=torch.float64, requires_grad=True)
        reference = torch.tensor([-0.5, 0.4, 0.1], dtype=torch.float64).log_softmax(0)

        def gradient(value):
            return torch.autograd.grad(value, logits)[0]

        def expected(kind):
            logp = logits.log_softmax(0)
            return gradient((logp.detach().exp() * m.kl_estimate(logp, reference, kind)).sum())

        policy = logits.log_softmax(0)
        reverse = gradient((policy.exp() * (policy - reference)).sum())
        policy = logits.log_softmax(0)
        forward = gradient((reference.exp() * (reference - policy)).sum())
        torch.testing.assert_close(expected("k1"), torch.zeros(3, dtype=torch.float64))
        torch.testing.assert_close(expected("k2"), reverse)
        torch.testing.assert_close(expected("k3"), forward)

    def test_unknown_estimator(self):
        with pytest.raises(ValueError, match="k1, k2, k3, abs or low_var"):
            m.kl_estimate(rows(0.0), rows(0.0), "k4")


class TestWeights:
    """Lengths 2 and 4, token losses 1 and 0.5."""

    mask = rows([1, 1, 0, 0], [1, 1, 1, 1])
    losses = rows([1.0, 1.0, 99.0, 99.0], [0.5, 0.5, 0.5, 0.5])

    @pytest.mark.parametrize(
        ("weights", "loss"),
        [
            (m.token_mean_weights, 4 / 6),
            (m.sequence_mean_weights, 0.75),
            (m.sequence_sum_weights, 2.0),
            (lambda mask: m.constant_weights(mask, 4), 0.5),
        ],
    )
    def test_worked_examples(self, weights, loss):
        assert (weights(self.mask) * self.losses).sum().item() == pytest.approx(loss)

    @pytest.mark.parametrize("weights", [m.token_mean_weights, m.sequence_mean_weights, m.sequence_sum_weights])
    def test_an_empty_completion_changes_nothing(self, weights):
        longer = torch.cat([self.mask, torch.zeros(1, 4)])
        torch.testing.assert_close(weights(longer)[:2], weights(self.mask))

    def test_nothing_at_all_is_zero(self):
        for weights in (m.token_mean_weights, m.sequence_mean_weights, m.sequence_sum_weights):
            assert weights(torch.zeros(2, 3)).tolist() == [[0, 0, 0], [0, 0, 0]]
            assert weights(torch.zeros(0, 0)).shape == (0, 0)
        assert m.constant_weights(torch.zeros(0, 3), 5).shape == (0, 3)


def looped_gae(rewards, values, mask, gamma, lam):
    out = torch.zeros_like(values)
    for i in range(len(values)):
        following, running = 0.0, 0.0
        for t in reversed(range(values.shape[1])):
            if mask[i, t]:
                delta = rewards[i, t] + gamma * following - values[i, t]
                running = delta + gamma * lam * running
                following = values[i, t]
                out[i, t] = running
    return out


class TestReturns:
    @pytest.mark.parametrize(("lam", "expected"), [(1.0, [0.5, 0.5, 0.5]), (0.5, [0.125, 0.25, 0.5])])
    def test_worked_examples(self, lam, expected):
        advantages, returns = m.gae(rows([0.0, 0.0, 1.0]), rows([0.5, 0.5, 0.5]), torch.ones(1, 3), 1.0, lam)
        assert advantages[0].tolist() == pytest.approx(expected)
        assert returns[0].tolist() == pytest.approx([x + 0.5 for x in expected])

    @pytest.mark.parametrize(("gamma", "lam"), [(1.0, 1.0), (0.9, 0.7), (1.0, 0.0), (0.99, 0.95)])
    @pytest.mark.parametrize("tokens", [1, 2, 7, 33])
    def test_agrees_with_the_loop(self, gamma, lam, tokens):
        noise = torch.Generator().manual_seed(tokens)
        rewards, values = (torch.randn(6, tokens, dtype=torch.float64, generator=noise) for _ in range(2))
        mask = (torch.rand(6, tokens, generator=noise) > 0.3).double()  # with holes, and perhaps an empty row
        advantages, returns = m.gae(rewards, values, mask, gamma, lam)
        expected = looped_gae(rewards, values, mask, gamma, lam)
        torch.testing.assert_close(advantages, expected)
        torch.testing.assert_close(returns, expected + values * mask)
        zeros = torch.zeros_like(values)
        monte_carlo = looped_gae(rewards, zeros, mask, gamma, 1.0)
        torch.testing.assert_close(m.discounted_returns(rewards, mask, gamma), monte_carlo)

    def test_lambda_may_differ_by_row(self):
        rewards, values, mask = torch.randn(2, 5), torch.randn(2, 5), torch.ones(2, 5)
        both = m.gae(rewards, values, mask, 0.9, torch.tensor([[0.3], [0.8]]))[0]
        torch.testing.assert_close(both[0], m.gae(rewards, values, mask, 0.9, 0.3)[0][0])
        torch.testing.assert_close(both[1], m.gae(rewards, values, mask, 0.9, 0.8)[0][1])

    def test_padding_is_ignored_whatever_it_holds(self):
        mask = rows([1, 1, 0])
        rewards, values = rows([0.0, 1.0, math.nan]), rows([0.1, 0.2, math.inf])
        advantages, returns = m.gae(rewards, values, mask)
        assert advantages[0].tolist() == pytest.approx([0.9, 0.8, 0.0])
        assert returns.isfinite().all()
        assert m.discounted_returns(rewards, mask)[0].tolist() == [1.0, 1.0, 0.0]


class TestWhiten:
    def test_tokens_count_not_completions(self):
        mask = rows([1, 0, 0], [1, 1, 1])
        got = m.whiten(rows([1.0], [0.0]), mask)
        assert got[0].tolist() == pytest.approx([1.5, 0.0, 0.0])
        assert got[1].tolist() == pytest.approx([-0.5, -0.5, -0.5])

    def test_equal_values_are_exactly_zero(self):
        mask = torch.tensor([[1.0, 1.0], [1.0, 0.0]])
        assert m.whiten(torch.full((2, 2), 0.3), mask).tolist() == [[0, 0], [0, 0]]
        assert m.whiten(torch.full((2, 2), 0.3), torch.zeros(2, 2)).tolist() == [[0, 0], [0, 0]]


class TestLeaveOneOut:
    def test_agrees_with_the_loop(self):
        keys = torch.tensor([0, 0, 1, 0, 0, 2, 1, 3, 3, 3])
        x = torch.tensor([0.1, 0.9, 0.3, 0.4, -0.5, 2.0, 0.8, 1.0, 0.0, 1.0], dtype=torch.float64)
        got = m.leave_one_out_standardize(Groups(keys), x, eps=1e-3)
        for i in range(len(x)):
            others = x[(keys == keys[i]) & (torch.arange(len(x)) != i)]
            mean = others.mean() if len(others) else x[i]
            std = others.std() if len(others) > 1 else torch.zeros(())
            assert got[i].item() == pytest.approx(((x[i] - mean) / (std + 1e-3 if std > 0 else 1)).item())

    def test_missing_values_do_not_count(self):
        x = torch.tensor([[1.0], [math.nan], [0.0], [0.5]], dtype=torch.float64)
        got = m.leave_one_out_standardize(Groups(torch.zeros(4, dtype=torch.long)), x)
        without = m.leave_one_out_standardize(Groups(torch.zeros(3, dtype=torch.long)), x[[0, 2, 3]])
        torch.testing.assert_close(got[[0, 2, 3]], without)
        assert got[1] == 0
