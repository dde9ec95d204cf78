"""Every method for a few real steps of a tiny policy, and what its rounds, passes and updates cost and see."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import torch

from harness import Batch, Groups
from harness.policies.random import tiny_policy
from harness.tasks.base import Problem, Task
from harness.tasks.mixture import Mixture
from harness.training.config import (
    BudgetConfig,
    LearnerConfig,
    OptimizerConfig,
    PolicyConfig,
    SamplingConfig,
    TrialConfig,
)
from harness.training.loop import step
from harness.training.setup import Trial, make
from tests.papers.chain import CATALOGUE, METHODS

PROMPTS, GROUP, TOKENS = 4, 4, 6


class OddDigits(Task):
    """Right is an odd number of digits: a coin for a policy that knows nothing."""

    name = "odd"
    columns = ("correct", "brevity")
    correct_column = "correct"
    max_tokens = TOKENS

    def __init__(self):
        self.reward_weights = {"correct": 1.0, "brevity": 0.1}

    def problems(self, split, limit=None):
        return [Problem(key=f"odd:{i}", prompt=f"{i}=", task="odd", answer=None) for i in range(40)][:limit]

    def score_texts(self, problems, texts, truncated, *, sandbox=None):
        odd = [sum(map(str.isdigit, text)) % 2 for text in texts]
        return {"correct": np.array(odd, float), "brevity": np.array([-len(text) for text in texts]) / TOKENS}


class Seen(NamedTuple):
    trial: Trial
    metrics: list[dict[str, float]]
    gathered: list[Batch]

    @property
    def weights(self) -> torch.Tensor:
        return torch.cat([p.detach().flatten() for p in self.trial.context.policy.model.parameters()])

    @property
    def counts(self) -> dict[str, float]:
        return self.trial.context.ledger.counts


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    directory = tmp_path_factory.mktemp("policy")
    tiny_policy(seed=0).save(directory)
    return str(directory)


@pytest.fixture(scope="module")
def train(policy):
    def run(method: str, steps: int = 2, *, rounds: int = 4, minibatches: int = 2) -> Seen:
        config = TrialConfig(
            suite="papers",
            method=method,
            policy=PolicyConfig(model=policy),
            sampling=SamplingConfig(prompts=PROMPTS, group_size=GROUP, max_tokens=TOKENS, max_rounds=rounds),
            learner=LearnerConfig(minibatches=minibatches, micro_batch=8),
            optimizer=OptimizerConfig(lr=1e-3),
            budget=BudgetConfig(compute=1e9),
        )
        trial = make(config, Mixture([(OddDigits(), 1.0)], seed=0), None, CATALOGUE)
        metrics, gathered = [], []
        for number in range(steps):
            metrics.append(step(trial.context, trial.lag, number)[0])
            gathered.append(trial.context.state.gathered)
        return Seen(trial, metrics, gathered)

    return run


@pytest.fixture(scope="module")
def start(policy):
    from harness.policies.policy import Policy

    return torch.cat([p.detach().flatten() for p in Policy.load(policy).model.parameters()])


STACKS = ("random-reward", "dapo+f-grpo(gamma=2)", "ar3po+gdpo", "igrpo+gspo")


@pytest.mark.parametrize("method", [*(method for method in METHODS if "(" not in method), *STACKS])
def test_trains_and_its_state_can_be_saved(train, start, method):
    seen = train(method, 1)
    assert not torch.equal(seen.weights, start)
    assert seen.weights.isfinite().all()
    for metrics in seen.metrics:
        assert all(np.isfinite(value) for value in metrics.values()), metrics
    state = seen.trial.stack.state_dict()
    seen.trial.stack.load_state_dict(state)
    step(seen.trial.context, seen.trial.lag, 1)


@pytest.mark.parametrize("twin", ["placebo", "f-grpo(gamma=0)", "sfpo(fast=0)", "dapo(dynamic=False)+placebo"])
def test_what_changes_nothing_is_bit_identical(train, twin):
    base = "dapo(dynamic=False)" if twin.startswith("dapo") else "grpo(beta=0)"
    assert torch.equal(train(twin).weights, train(base).weights)


def test_dapo_trains_on_mixed_groups_and_pays_for_the_others(train):
    seen = train("dapo", rounds=10)
    for batch in seen.gathered:
        kept = batch[batch.kept]
        assert Groups(kept.prompt).number == PROMPTS
        right = Groups(kept.prompt).sum(kept.correct, expand=False)
        assert ((right > 0) & (right < GROUP)).all()
    assert seen.counts["rollouts_dropped"] > 0
    assert seen.counts["rollouts_requested"] == sum(map(len, seen.gathered))


def test_dapo_stops_at_the_cap(train):
    seen = train("dapo", 1, rounds=1)
    assert len(seen.gathered[0]) == PROMPTS * GROUP


def test_mc_grpo_samples_one_more_and_drops_the_median(train):
    seen = train("grpo(beta=0)+mc-grpo", 1)
    assert len(seen.gathered[0]) == PROMPTS * (GROUP + 1)
    assert seen.counts["rows_trained"] == PROMPTS * GROUP


def test_remax_pays_for_a_greedy_completion_of_every_prompt(train):
    seen = train("remax(beta=0)", 1)
    assert seen.counts["rollouts_greedy"] == PROMPTS
    assert seen.trial.context.ledger.categories["greedy"] > 0


def test_references_are_paid_for_only_where_beta_asks(train):
    for method in ("grpo", "rloo", "reinforce-pp", "remax"):
        assert train(method, 1).trial.context.ledger.categories["reference"] > 0
        assert "reference" not in train(f"{method}(beta=0)", 1).trial.context.ledger.categories


def test_sfpo_makes_one_slow_and_three_fast_passes(train):
    assert train("sfpo", 1).counts["updates"] == 4 * train("grpo(beta=0)", 1).counts["updates"]
    still = train("sfpo(threshold=-10, window=2)", 3)
    assert [metrics["method/sfpo_stopped"] for metrics in still.metrics] == [0, 1, 1]
    assert still.metrics[-1]["updates"] == 2


def test_ppo_moves_its_critic(train):
    seen = train("ppo")
    head = seen.trial.context.state.modules["critic"]
    assert head.linear.weight.abs().sum() > 0
    assert any(name == "module:critic" for name in seen.trial.context.ledger.categories)


def test_ar3po_stops_at_the_first_success_and_borrows_later(train):
    seen = train("ar3po", 6)
    for batch in seen.gathered:
        prompts = Groups(batch.prompt)
        assert (prompts.count() <= GROUP).all()
        # Nobody was sampled again after a round with a success.
        solved = torch.where(batch.correct, batch.round, torch.full_like(batch.round, 99))
        assert (batch.round <= prompts.min(solved)).all()
    assert seen.counts["rollouts_requested"] < 6 * PROMPTS * GROUP
    assert seen.metrics[-1]["method/remembered"] > 0


def test_igrpo_refines_the_best_draft(train):
    seen = train("igrpo", 1)
    (batch,) = seen.gathered
    policy = seen.trial.context.policy
    drafts, refined = batch[batch.round == 0], batch[batch.round == 1]
    assert len(drafts) == len(refined) == PROMPTS * GROUP // 2
    assert batch.groups.number == 2 * PROMPTS
    assert seen.counts["rows_trained"] <= len(refined)
    for row in range(len(refined)):
        mine = (drafts.prompt == refined.prompt[row]).nonzero()[:, 0]
        best = mine[drafts.reward[mine].argmax()]
        ids = drafts.completion_ids[best, : drafts.lengths[best]].tolist()
        draft = policy.decode([i for i in ids if i not in policy.stop_ids])
        shown = policy.decode(refined.prompt_ids[row][refined.prompt_mask[row] > 0].tolist())
        text = refined.prompts[row].text
        assert shown.endswith(f"{text}{draft}\n{text}")


def test_tree_grpo_pays_for_a_prefix_once(train):
    seen = train("tree-grpo", 1)
    (batch,) = seen.gathered
    assert len(batch) == PROMPTS * GROUP
    assert seen.counts["tokens_generated"] < int(batch.lengths.sum())
    family = Groups(torch.stack([batch.prompt, batch.extras["tree"]], 1))
    assert (family.count() == GROUP // 2).all()
    roots = batch[family.first]
    for row in range(len(batch)):
        root = roots.completion_ids[family.index[row]]
        assert batch.completion_ids[row, 0] == root[0]
    pairs = batch.completion_ids.unique(dim=0)
    assert len(pairs) > Groups(batch.prompt).number * 2  # branches went their own way


def test_vade_learns_who_is_worth_asking(train):
    seen = train("vade", 3)
    plugin = dict(seen.trial.stack.plugins)["vade"]
    assert plugin.counts.shape == (40, 2)
    assert plugin.counts.sum() == 80 + 3 * PROMPTS * GROUP
    assert plugin.counts[:, 0].sum() - 40 == sum(int(batch.correct.sum()) for batch in seen.gathered)
    assert all(Groups(batch.prompt).number == PROMPTS for batch in seen.gathered)


def test_random_reward_ignores_the_task(train):
    seen = train("random-reward", 1)
    assert 0 <= seen.metrics[0]["reward/coin"] <= 1
    assert "reward/correct" in seen.metrics[0]
