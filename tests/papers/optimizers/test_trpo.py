import dataclasses

import pytest
import torch

from harness.budget import BudgetSpent
from harness.mathematics import token_mean_weights
from harness.training.passes import row_tokens
from tests.papers.steps import before_update, begun, take


@pytest.fixture(scope="module")
def ready():
    trial = begun("trpo")
    return trial, before_update(trial)


def scores(trial, batch):
    """[M, P] the gradient of every counted token's log-probability, by autograd."""
    policy, on = trial.context.policy, batch.mask > 0
    logp = policy.forward(batch.prompt_ids, batch.prompt_mask, batch.completion_ids, batch.mask).logp
    parameters = trial.context.learner.parameters
    rows = [torch.autograd.grad(x, parameters, retain_graph=True) for x in logp[on][:12]]
    return torch.stack([torch.cat([g.reshape(-1) for g in row]) for row in rows])


def test_products_with_the_fisher_matrix_are_exact_enough(ready):
    trial, batch = ready
    few = batch.replace(mask=torch.zeros_like(batch.mask))
    places = (batch.mask > 0).nonzero()[:12]
    few.mask[places[:, 0], places[:, 1]] = 1
    plugin = dict(trial.stack.plugins)["trpo"]
    learner, state = trial.context.learner, trial.context.state
    exact = scores(trial, batch)
    vector = exact[0] - exact[3]
    expected = exact.T @ (exact @ vector) / 12 + 0.1 * vector
    found = plugin.fisher(learner, few, state, learner.snapshot(), vector)
    assert ((found - expected).norm() / expected.norm()) < 1e-3
    assert token_mean_weights(few.mask).max() == pytest.approx(1 / 12)


def test_a_step_gains_within_the_limit_and_is_one_update():
    trial = begun("trpo(delta=0.02)")
    found = take(trial, 2)
    assert [one["updates"] for one in found] == [1, 1]
    assert all(0 < one["method/trpo_kl"] <= 0.02 for one in found)
    assert trial.context.ledger.categories["module:trpo_old"] > 0


def test_nothing_to_gain_leaves_the_weights():
    trial = begun("trpo", hopeless=True)
    before = [p.detach().clone() for p in trial.context.learner.parameters]
    assert take(trial)[0]["updates"] == 0
    assert all(torch.equal(p, old) for p, old in zip(trial.context.learner.parameters, before, strict=True))


def test_a_budget_that_ends_in_the_middle_leaves_the_weights():
    trial = begun("trpo")
    ledger = trial.context.ledger
    batch = before_update(trial)
    before = [p.detach().clone() for p in trial.context.learner.parameters]
    rows = float(row_tokens(batch).sum())
    # The gradient and one of the two passes that the first product needs, with the weights moved aside.
    ledger.budget = dataclasses.replace(ledger.budget, compute=ledger.spent + 4.5 * rows)
    with pytest.raises(BudgetSpent):
        trial.context.hooks.update(learner=trial.context.learner, batch=batch)
    assert ledger.categories["policy"] == rows
    assert all(torch.equal(p, old) for p, old in zip(trial.context.learner.parameters, before, strict=True))
