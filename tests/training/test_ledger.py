"""The bill against an independent count, and the budget that is never passed."""

from __future__ import annotations

import dataclasses
import json

import pytest

from harness.budget import BudgetSpent, Cost
from harness.policies.sampler import Sampler
from harness.training.loop import step
from harness.training.meter import worst_case
from harness.training.reserve import affordable
from harness.training.setup import make, open_sandbox
from harness.training.stages.rounds import rounds
from harness.training.trial import run_trial

CASES = [
    ("grpo(beta=0)", {"minibatches": 1}),
    ("grpo(beta=0)", {"minibatches": 2, "updates_per_batch": 3}),
    ("grpo(beta=0.1)", {"minibatches": 2}),
    ("remax", {"minibatches": 1}),
    ("dapo", {"minibatches": 1, "max_rounds": 3}),
    ("sfpo(fast=2)", {"minibatches": 2}),
    ("ppo", {"minibatches": 2}),
    ("tree-grpo", {"minibatches": 2}),
    ("ar3po(stages=2)", {"minibatches": 2, "max_rounds": 2}),
]


class Spy:
    """Counts what the sampler gave and what the update received, from the objects themselves."""

    def __init__(self, trial, monkeypatch):
        self.bill = {"prompt": 0, "generate": 0, "greedy": 0, "old": 0, "reference": 0, "train": 0, "module:critic": 0}
        self.rollouts = 0
        self.trial = trial
        read = set()  # prompts, once a round
        original = Sampler.generate

        def generate(sampler, requests, **options):
            found = original(sampler, requests, **options)
            prompts = 0
            for r in requests:
                place = (options["step"], options["round"], r.greedy, r.key, r.prompt_ids)
                prompts += 0 if place in read else len(r.prompt_ids)
                read.add(place)
            tokens = int((found.mask > 0).sum()) - sum(r.n * len(r.prefix) for r in requests)
            if requests[0].greedy:
                self.bill["greedy"] += prompts + tokens
            else:
                self.bill["prompt"] += prompts
                self.bill["generate"] += tokens
                self.rollouts += len(found)
            return found

        monkeypatch.setattr(Sampler, "generate", generate)
        hooks, learner = trial.context.hooks, trial.context.learner
        update, backward = hooks.update, learner.backward

        def seen(learner, batch):
            rows = sum(map(self.size, range(len(batch)), [batch] * len(batch)))
            if trial.config.learner.minibatches > 1:
                self.bill["old"] += rows
                self.bill["module:critic"] += rows * self.relative
            if "reference" in trial.stack.needs:
                self.bill["reference"] += rows
            return update(learner=learner, batch=batch)

        def back(batch):
            rows = sum(self.size(i, batch) for i in range(len(batch)) if batch.mask[i].sum() > 0)
            self.bill["train"] += 3 * rows
            self.bill["module:critic"] += 3 * rows * self.relative
            return backward(batch)

        hooks.update, learner.backward = seen, back

    @property
    def relative(self):
        critic = self.trial.context.state.modules.get("critic")
        return sum(p.numel() for p in critic.parameters()) / self.trial.context.policy.n_params if critic else 0

    @staticmethod
    def size(row, batch):
        return int(batch.prompt_mask[row].sum()) + int(batch.lengths[row])


@pytest.mark.parametrize(("method", "settings"), CASES)
def test_the_ledger_equals_an_independent_count(config, monkeypatch, method, settings):
    settings = config(method, compute=1e6, **settings)
    with open_sandbox(settings) as (task, sandbox):
        trial = make(settings, task, sandbox)
        spy = Spy(trial, monkeypatch)
        for number in range(3):
            step(trial.context, trial.lag, number)
    ledger = trial.context.ledger
    expected = {name: amount for name, amount in spy.bill.items() if amount}
    assert ledger.categories == pytest.approx(expected, abs=1e-6)
    assert ledger.spent == pytest.approx(sum(expected.values()))
    counts = ledger.counts
    assert counts["rollouts_requested"] == spy.rollouts == counts["rollouts_kept"] + counts["rollouts_dropped"]
    assert counts["tokens_generated"] == spy.bill["generate"] == ledger.total.tokens - counts.get("tokens_greedy", 0)
    assert counts["steps"] == 3


@pytest.mark.parametrize(
    ("method", "budget"),
    [("grpo", {"compute": c}) for c in (100, 900, 1500, 2222)]
    + [("sfpo", {"compute": 2000}), ("remax", {"compute": 2000}), ("dapo", {"compute": 2000})]
    + [("remax", {"tokens": 300}), ("grpo", {"rollouts": 40}), ("sfpo(fast=2)", {"updates": 9})],
)
def test_spent_never_exceeds_the_budget(config, tmp_path, method, budget):
    result = run_trial(config(method, **budget), tmp_path / "t")
    assert result.status == ("done" if result.steps else "failed"), result.error
    assert 0 <= result.spent <= result.limit
    assert result.left == result.limit - result.spent
    ledger = json.loads((tmp_path / "t" / "ledger.json").read_text())
    assert ledger["spent"] == result.spent
    if budget == {"rollouts": 40}:
        assert result.spent == 40  # two whole batches of 16, then half a batch


def test_under_seconds_the_check_is_between_steps(config, tmp_path):
    result = run_trial(config(seconds=0.05), tmp_path / "t")
    assert result.status == "done"
    assert result.steps >= 1


def test_a_later_round_leaves_room_for_greedy_completions(config, monkeypatch):
    settings = config("remax(beta=0)", compute=1e6, minibatches=1)
    with open_sandbox(settings) as (task, sandbox):
        context = make(settings, task, sandbox).context
        context.state.begin_step(0, 0.0)
        rounds(context)
        context.state.round = 1
        more, held = context.state.draw(1), []
        monkeypatch.setattr(context.ledger, "fits", lambda cost: held.append(cost.compute) or True)
        affordable(context, more, context.state.gathered)
        context.needs = frozenset()
        affordable(context, more, context.state.gathered)
        prompts = [len(context.state.request(key).prompt_ids) for key in [*context.state.places, more[0].key]]
    assert len(prompts) == 5
    assert held[0] - held[1] == sum(prompts) + 5 * 8


def test_every_pass_of_a_round_has_noise_of_its_own(config, started):
    context = started(config(compute=1e6))[0].context
    requests = context.state.draw(2)

    def sample(stream="train"):
        return context.sampler.generate(requests, stream=stream, category=stream).texts

    found = [sample(), sample("other"), sample(), sample("other")]
    assert len(set(found)) == 4
    context.state.begin_step(1, 0.0)
    assert sample() not in found


def test_a_prompt_is_paid_once_a_round(config, started):
    context = started(config(compute=1e6))[0].context
    request, other = context.state.draw(2)
    size = len(request.prompt_ids)

    def paid(*requests, category="generate"):
        before = dict(context.ledger.categories)
        context.sampler.generate(requests, category=category)
        return context.ledger.categories.get("prompt", 0) - before.get("prompt", 0)

    assert worst_case([request, request]) == worst_case([request]) + Cost.generation(0, 4 * 8, 4)
    assert paid(request, request) == size
    assert paid(request) == 0
    assert paid(request, other) == len(other.prompt_ids)
    assert paid(dataclasses.replace(request, prompt_ids=(*request.prompt_ids, 1))) == size + 1
    before = context.ledger.categories.get("greedy", 0)
    rollouts = context.sampler.generate([request], category="greedy")
    assert context.ledger.categories["greedy"] - before == size + int(rollouts.generated.sum())
    context.state.round += 1
    assert paid(request) == size
    context.state.begin_step(1, 0.0)
    assert paid(request) == size


def test_whole_groups_are_dropped_until_the_worst_case_fits(config):
    settings = config(compute=2000, minibatches=1)
    with open_sandbox(settings) as (task, sandbox):
        trial = make(settings, task, sandbox)
        context = trial.context
        sizes = []

        def spend():
            for number in range(100):
                step(context, trial.lag, number)
                sizes.append(context.state.gathered.groups.count(expand=False).tolist())

        with pytest.raises(BudgetSpent, match="half of a batch"):
            spend()
    assert all(set(groups) == {4} for groups in sizes)
    assert {len(groups) for groups in sizes} <= {2, 3, 4}
    assert len(sizes[0]) == 4
