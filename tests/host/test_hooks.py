"""What each hook must return, and how the caller merges it. Every hook has a test named after it."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from harness import PluginError, Trained, UsageError, hookimpl, method
from harness.hookspecs import HOOKS
from tests.batches import make_batch
from tests.host.plugins import breaks, caller, output_of, plugin, ready, returning, stack

NAN, INF = float("nan"), float("inf")


def test_every_hook_has_a_test():
    assert not [hook for hook in HOOKS if f"test_{hook}" not in globals()]


def test_start():
    run = SimpleNamespace()

    def start(self, run, state):
        self.seen = (run, state)

    state = SimpleNamespace(hook="x")
    built = stack("probe-me", plugin(start=start))
    built.caller(state).start(run=run)
    assert built.plugins[0][1].seen == (run, state)
    assert built.restored == [run]
    with breaks("start", r"expected None \(set attributes on self\), got int 3"):
        returning("start", 3).start(run=run)


def test_build():
    module = nn.Linear(2, 1)
    hooks = returning("build", {"critic": Trained(module, lr=0.1)})
    assert hooks.build(policy=None, task=None)["critic"].module is module
    assert module in hooks.restored
    with breaks("build", "'critic': int 3"):
        returning("build", {"critic": 3}).build(policy=None, task=None)

    class Other:
        @hookimpl
        def build(self):
            return {"critic": nn.Linear(1, 1)}

    with pytest.raises(PluginError, match=r"'probe-me' and 'other' both return a module named 'critic'"):
        caller(plugin(build=lambda self: {"critic": module}), method(Other)).build(policy=None, task=None)


def test_select_prompts():
    def problem(key):
        if key not in "abc":
            raise UsageError(f"no prompt {key!r} in the pool")

    pool = SimpleNamespace(problem=problem)
    assert returning("select_prompts", ["a", "b"]).select_prompts(pool=pool, count=2) == ["a", "b"]
    assert returning("select_prompts", []).select_prompts(pool=pool, count=2) == []
    for wrong in ("ab", [1], None, {"a"}):
        with breaks("select_prompts"):
            returning("select_prompts", wrong).select_prompts(pool=pool, count=2)
    with breaks("select_prompts", "no prompt 'x' in the pool"):
        returning("select_prompts", ["a", "x"]).select_prompts(pool=pool, count=2)


def test_allocate_rollouts():
    request = SimpleNamespace(key="a", n=4)
    assert returning("allocate_rollouts", [request]).allocate_rollouts(prompts=["a"]) == [request]
    for wrong in ([3], "ab", 5):
        with breaks("allocate_rollouts", "requests"):
            returning("allocate_rollouts", wrong).allocate_rollouts(prompts=["a"])


def test_generate():
    rollouts = SimpleNamespace(completion_ids=0, mask=0, logp=0, requests=())
    assert returning("generate", rollouts).generate(sampler=None, requests=[]) is rollouts
    with breaks("generate", "expected Rollouts, got list of length 1"):
        returning("generate", [1]).generate(sampler=None, requests=[])


def test_score():
    rollouts = SimpleNamespace(mask=torch.ones(2, 3))
    task = SimpleNamespace(score=lambda rollouts: {"correct": torch.tensor([1.0, NAN])})
    more = {"bonus": torch.tensor([True, False]), "steps": torch.zeros(2, 3, dtype=torch.float64)}
    columns = returning("score", more).score(rollouts=rollouts, task=task)
    assert list(columns) == ["correct", "bonus", "steps"]
    assert all(column.is_floating_point() for column in columns.values())
    for wrong in (
        {"x": torch.zeros(3)}, {"x": torch.full((2,), INF)}, {"x": torch.zeros(2, requires_grad=True)}, {"x": [0, 1]},
        {3: torch.zeros(2)}, torch.zeros(2),
    ):  # fmt: skip
        with breaks("score"):
            returning("score", wrong).score(rollouts=rollouts, task=task)
    with pytest.raises(PluginError, match=r"'defaults' and 'probe-me' both return a reward column named 'correct'"):
        returning("score", {"correct": torch.zeros(2)}).score(rollouts=rollouts, task=task)


def test_group_by():
    batch = make_batch(group=[0, 0, 1, 1])
    assert returning("group_by", lambda b: b.rollout.int()).group_by(batch=batch).dtype == torch.long
    assert returning("group_by", lambda b: torch.stack([b.prompt, b.rollout], 1)).group_by(batch=batch).shape == (4, 2)
    with breaks("group_by", r"expected integer keys \[4\] or \[4, C\], got float64 tensor \[4\]"):
        returning("group_by", lambda b: b.reward).group_by(batch=batch)
    with breaks("group_by", r"got int64 tensor \[3\]"):
        returning("group_by", lambda b: b.prompt[1:]).group_by(batch=batch)


def test_keep():
    batch = make_batch()
    hooks = caller(plugin(keep=lambda self, batch: batch.correct), method(type("Own", (), {
        "keep": hookimpl(lambda self, batch: batch.rollout > 0)
    })))  # fmt: skip
    assert hooks.keep(batch=batch).tolist() == [False, False, False, True]
    with breaks("keep", r"expected bool \[4\], got float64 tensor \[4\]"):
        returning("keep", lambda b: b.reward).keep(batch=batch)
    with breaks("keep", "returned None where a value is due"):
        returning("keep", None).keep(batch=batch)


def test_next_round():
    batch, request = make_batch(), SimpleNamespace(key="a", n=4)
    assert returning("next_round", None).next_round(batch=batch, round=0) is None
    assert returning("next_round", [request]).next_round(batch=batch, round=0) == [request]
    lower = plugin(next_round=lambda self: [request])
    upper = method(type("Upper", (), {"next_round": hookimpl(lambda self: None)}))
    assert caller(lower, upper).next_round(batch=batch, round=0) == [request]
    with breaks("next_round"):
        returning("next_round", [1]).next_round(batch=batch, round=0)


def test_augment():
    batch = make_batch()
    assert len(returning("augment", lambda b: b[[0, 1, 1]]).augment(batch=batch)) == 3
    with breaks("augment", "the batch"):
        returning("augment", lambda b: b.reward).augment(batch=batch)
    with breaks("augment", "`correct` of the rows that stay"):
        returning("augment", lambda b: b.replace(correct=~b.correct)).augment(batch=batch)


def test_annotate():
    batch = make_batch().with_extras(known=torch.zeros(4))
    found = returning("annotate", lambda b: {"values": torch.zeros_like(b.mask)}).annotate(batch=batch, policy=None)
    assert set(found) == {"values"}
    for wrong in (torch.zeros(3), torch.zeros(4, requires_grad=True), [0, 0, 0, 0]):
        with breaks("annotate", "the extra 'x' as a detached tensor with 4 rows"):
            returning("annotate", {"x": wrong}).annotate(batch=batch, policy=None)
    with breaks("annotate", "a name that batch.extras does not hold yet"):
        returning("annotate", {"known": torch.zeros(4)}).annotate(batch=batch, policy=None)


def test_shape_rewards():
    batch = make_batch()
    longer = returning("shape_rewards", lambda b: b.add_reward("brevity", -b.lengths)).shape_rewards(batch=batch)
    assert longer.reward_names == ("r0", "brevity")
    for wrong, match in (
        (lambda b: b[1:], "with its 4 rows, got 3 rows"),
        (lambda b: b.reward, "the batch with rewards changed"),
        (lambda b: b.replace(rewards=b.rewards[:, :0]), r"rewards \[4, 1\]"),
        (lambda b: b.replace(rewards=b.rewards / 0.0), "finite or NaN"),
        (lambda b: b.replace(correct=~b.correct), "`correct` unchanged"),
    ):
        with breaks("shape_rewards", match):
            returning("shape_rewards", wrong).shape_rewards(batch=batch)


def test_estimate_advantages():
    batch = make_batch()
    assert returning("estimate_advantages", lambda b: b.reward).estimate_advantages(batch=batch).shape == (4, 1)
    assert returning("estimate_advantages", lambda b: b.mask).estimate_advantages(batch=batch).shape == (4, 3)
    for wrong, match in (
        (lambda b: b.reward[1:], r"expected advantages \[4\] or \[4, 3\], got float64 tensor \[3\]"),
        (lambda b: b.mask.T, r"got float64 tensor \[3, 4\]"),
        (lambda b: b.reward.long(), "of float64, got int64"),
        (lambda b: b.reward.float(), "of float64, got float32"),
        (lambda b: b.reward.clone().requires_grad_(), "detached"),
        (lambda b: b.reward * NAN, "finite where the mask is 1, got nan at row 0"),
        (lambda b: b.mask / 0.0 * b.mask, "got inf at row 0, token 0"),
        (lambda b: b.reward.tolist(), "got list of length 4"),
    ):
        with breaks("estimate_advantages", match):
            returning("estimate_advantages", wrong).estimate_advantages(batch=batch)


def test_train_on():
    batch = make_batch()
    assert caller(plugin(start=lambda self: None)).train_on(batch=batch) is None
    chosen = returning("train_on", lambda b: b.correct).train_on(batch=batch)
    assert chosen.shape == (4, 3)
    assert chosen[0].all()
    assert not chosen[1].any()
    per_token = method(type("Own", (), {"train_on": hookimpl(lambda self, batch: batch.mask > 0)}))
    hooks = caller(plugin(train_on=lambda self, batch: batch.correct), per_token)
    assert torch.equal(hooks.train_on(batch=batch), (batch.mask > 0) & batch.correct[:, None])
    with breaks("train_on", r"expected bool \[4\] or \[4, 3\]"):
        returning("train_on", lambda b: b.mask).train_on(batch=batch)


def test_aggregate():
    batch = make_batch()
    weights = returning("aggregate", lambda b: torch.ones_like(b.mask)).aggregate(batch=batch)
    assert torch.equal(weights, batch.mask)  # whatever a plugin says of masked-out tokens does not count
    for wrong, match in (
        (lambda b: b.reward, r"expected weights \[4, 3\], got float64 tensor \[4\]"),
        (lambda b: b.mask * NAN, "finite"),
        (lambda b: b.mask.clone().requires_grad_(), "detached"),
    ):
        with breaks("aggregate", match):
            returning("aggregate", wrong).aggregate(batch=batch)


def test_policy_loss():
    batch = ready(make_batch())
    output = output_of(batch)
    per_row = returning("policy_loss", lambda b: b.reward[:, None]).policy_loss(batch=batch, output=output)
    assert per_row.shape == (4, 3)
    outside = returning("policy_loss", lambda b: torch.where(b.mask > 0, 1.0, NAN).double())
    assert torch.equal(outside.policy_loss(batch=batch, output=output), batch.mask)
    for wrong, match in (
        (lambda b: b.reward, r"expected token losses \[4, 3\] or \[4, 1\], got float64 tensor \[4\]"),
        (lambda b: b.mask.float(), "of float64, got float32"),
        (lambda b: b.mask * INF, "finite"),
    ):
        with breaks("policy_loss", match):
            returning("policy_loss", wrong).policy_loss(batch=batch, output=output)


def test_loss():
    batch = ready(make_batch())
    output = output_of(batch)
    assert returning("loss", lambda b: b.reward.sum()).loss(batch=batch, output=output) == 2
    for wrong, match in (
        (lambda b: b.reward, r"expected a scalar, got float64 tensor \[4\]"),
        (lambda b: b.reward.sum() * NAN, "expected a finite scalar, got nan"),
        (lambda b: 3.0, "got float 3.0"),
    ):
        with breaks("loss", match):
            returning("loss", wrong).loss(batch=batch, output=output)


def test_regularize():
    batch = ready(make_batch())
    output = output_of(batch)
    scalar = plugin(regularize=lambda self, output: output.logp.sum())
    terms = method(type("Terms", (), {"regularize": hookimpl(lambda self, output: output.logp)}))
    found = caller(scalar, terms).regularize(batch=batch, output=output)
    assert [(label, term.dim()) for label, term in found] == [("probe-me", 0), ("terms", 2)]
    with breaks("regularize", r"expected a scalar or terms \[4, 3\], got float64 tensor \[4\]"):
        returning("regularize", lambda b: b.reward).regularize(batch=batch, output=output)
    with breaks("regularize", "finite"):
        returning("regularize", lambda b: b.mask * NAN).regularize(batch=batch, output=output)


def test_update():
    hooks = returning("update", {"loss": torch.tensor(1.5), "steps": 2})
    assert hooks.update(learner=None, batch=make_batch()) == {"loss": 1.5, "steps": 2.0}
    with breaks("update", "'loss': str 'a'"):
        returning("update", {"loss": "a"}).update(learner=None, batch=make_batch())


def test_end_step():
    batch = make_batch()
    assert returning("end_step", None).end_step(batch=batch, metrics={}) == {}
    other = method(type("Other", (), {"end_step": hookimpl(lambda self, metrics: {"a": metrics["x"], "b": 3})}))
    hooks = caller(plugin(end_step=lambda self: {"a": 1}), other)
    assert hooks.end_step(batch=batch, metrics={"x": 2.0}) == {"a": 1.0, "other/a": 2.0, "b": 3.0}
