"""Corrections in real steps of a tiny policy whose sampling weights lag behind."""

import pytest
import torch

from harness.policies.random import tiny_policy
from harness.tasks.mixture import Mixture
from harness.training.config import (
    BudgetConfig,
    LearnerConfig,
    OptimizerConfig,
    PolicyConfig,
    SamplerConfig,
    SamplingConfig,
    TrialConfig,
)
from harness.training.loop import step
from harness.training.setup import make
from tests.papers.chain import CATALOGUE
from tests.papers.test_training import OddDigits


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    directory = tmp_path_factory.mktemp("policy")
    tiny_policy(seed=0).save(directory)

    def run(method, lag, minibatches=1):
        config = TrialConfig(
            suite="stale",
            method=method,
            policy=PolicyConfig(model=str(directory)),
            sampling=SamplingConfig(prompts=2, group_size=4, max_tokens=6),
            sampler=SamplerConfig(lag=lag),
            learner=LearnerConfig(minibatches=minibatches),
            optimizer=OptimizerConfig(lr=1e-2),
            budget=BudgetConfig(compute=1e9),
        )
        trial = make(config, Mixture([(OddDigits(), 1.0)], seed=0), None, CATALOGUE)
        for number in range(3):
            step(trial.context, trial.lag, number)
        weights = torch.cat([p.detach().flatten() for p in trial.context.policy.model.parameters()])
        return weights, trial.context.ledger.categories

    return run


STALE = ("tis(stale_only=True)", "mis(stale_only=True)", "icepop(stale_only=True, denominator='kept')")


@pytest.mark.parametrize("correction", STALE)
def test_fresh_rows_stay_as_they_were_and_stale_ones_do_not(trained, correction):
    stack = f"grpo(beta=0)+{correction}"
    assert torch.equal(trained(stack, 0)[0], trained("grpo(beta=0)", 0)[0])
    stale = trained(stack, 2)[0]
    assert stale.isfinite().all()
    assert not torch.equal(stale, trained("grpo(beta=0)", 2)[0])


def test_rejecting_before_the_loss_costs_a_pass_unless_the_loop_makes_one(trained):
    stack = "grpo(beta=0)+rollout-rejection"
    assert trained(stack, 2)[1]["policy"] > 0
    assert "policy" not in trained(stack, 2, minibatches=2)[1]
    assert "policy" not in trained("grpo(beta=0)+rollout-rejection(denominator='all')", 2)[1]
