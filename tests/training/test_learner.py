"""The same gradient however a minibatch is cut, ordered or padded."""

from __future__ import annotations

import copy
import dataclasses

import pytest
import torch

from harness.batching import pad_left, pad_right
from harness.errors import HarnessError, PluginError
from harness.training.measures import Diverged
from tests.training.conftest import apart, gradients

# One of every kind of loss and module; `harness check` holds every method to it (slow tests).
METHODS = (
    "grpo",
    "dapo",
    "gspo",
    "cispo",
    "delta-l",
    "ppo",
    "raft",
    "igrpo",
    "tree-grpo",
    "placebo",
    "remax",
    "lambda-grpo",
    "flowrl",
    "disco",
    "gvpo",
    "real",
    "rpg",
    "adaptive-entropy",
    "grpo(beta=0)+tis",
    "kl",
    "ppo-ewma",
)
CLOSE = 1e-6


def off_policy(batch):
    """Old log-probabilities a little away from the policy's, so that ratios differ from 1 and some are clipped."""
    noise = torch.randn(batch.mask.shape, generator=torch.Generator().manual_seed(0), dtype=batch.mask.dtype)
    old = batch.logp_sampler if batch.logp_old is None else batch.logp_old
    return batch.replace(logp_old=(old + 0.3 * noise) * batch.mask)


def cut(trial, size):
    learner = trial.context.learner
    learner.config = learner.config.model_copy(update={"micro_batch": size})


@pytest.mark.parametrize("method", METHODS)
def test_both_paths_give_the_same_gradient_for_every_kind_of_method(config, started, method):
    trial, batch = started(config(method, dtype="float64", micro_batch=1000, compute=1e6))
    if len(batch) == 0:
        batch = trial.context.state.gathered
        batch = batch.replace(advantages=torch.randn(len(batch), 1, dtype=batch.mask.dtype))
    if not batch.advantages.any():  # the random policy is never right, which is all that some methods look at
        batch = batch.replace(advantages=torch.randn_like(batch.advantages))
    batch = off_policy(batch).replace(correct=torch.arange(len(batch)) % 2 == 0)
    state = copy.deepcopy(trial.stack.state_dict())
    whole = gradients(trial, batch)
    trial.context.learner.direct = "uncut"
    trial.stack.load_state_dict(copy.deepcopy(state))
    uncut = gradients(trial, batch)
    trial.context.learner.direct = None
    cut(trial, 3)
    trial.stack.load_state_dict(copy.deepcopy(state))
    replayed = gradients(trial, batch)
    assert any(bool(g.any()) for g in whole)
    assert apart(whole, uncut) < CLOSE
    assert apart(whole, replayed) < CLOSE


EVERYTHING = """
    class Head(torch.nn.Module):
        def __init__(self, width):
            super().__init__()
            self.layer = torch.nn.Linear(width, 3)

        def forward(self, batch, hidden):
            return {"tokens": self.layer(hidden), "rows": hidden.mean(1)}


    @method(needs={"entropy", "hidden", "top_logits"})
    class Everything:
        @hookimpl
        def build(self, policy):
            torch.manual_seed(0)
            self.scale = torch.nn.Module()
            self.scale.value = torch.nn.Parameter(torch.tensor(0.5, dtype=torch.float64))
            return {"head": Head(policy.model.config.hidden_size), "scale": self.scale}

        @hookimpl
        def loss(self, batch, output):
            weights = batch.weights
            ratio = output.ratio * batch.advantages
            logits = torch.where(batch.mask[..., None] > 0, output.top_logits.logp, 0.0)
            return (
                torch.logsumexp((weights * ratio).sum(1), 0)
                + (weights * output.entropy).sum() ** 2
                + (weights[..., None] * output.hidden).sum((0, 1)).square().sum()
                + output.prompt_hidden.mean().square()
                + (weights[..., None] * logits).sum().square()
                + output.modules["head"]["tokens"].square().mean() * self.scale.value
                + output.modules["head"]["rows"].mean().square()
            )
"""


def test_every_differentiable_tensor_is_a_leaf(config, started, plugin):
    trial, batch = started(config("everything", dtype="float64", micro_batch=1000, plugins=plugin(EVERYTHING)))
    whole = gradients(trial, batch)
    trial.context.learner.direct = "everything"
    uncut = gradients(trial, batch)
    trial.context.learner.direct = None
    cut(trial, 3)
    replayed = gradients(trial, batch)
    assert all(bool(g.any()) for g in whole)
    assert apart(uncut, whole) < CLOSE
    assert apart(uncut, replayed) < CLOSE


@pytest.mark.parametrize("method", ["grpo", "gspo", "ppo", "dr-grpo", "gdpo", "delta-l"])
def test_order_of_rows_and_padding_change_nothing(config, started, method):
    trial, batch = started(config(method, dtype="float64", micro_batch=1000))
    batch = off_policy(batch)
    plain = gradients(trial, batch)
    order = torch.randperm(len(batch), generator=torch.Generator().manual_seed(1))
    assert apart(plain, gradients(trial, batch[order])) < CLOSE
    groups = batch.replace(
        prompt=batch.prompt.max() - batch.prompt, group_keys=batch.group_keys.max() - batch.group_keys
    )
    assert apart(plain, gradients(trial, groups)) < CLOSE
    assert apart(plain, gradients(trial, padded(batch, 5))) < CLOSE
    cut(trial, 3)
    assert apart(plain, gradients(trial, padded(batch[order], 3))) < CLOSE


def padded(batch, more):
    """The batch with `more` columns of padding at both ends."""
    tokens, prompt = batch.tokens, batch.prompt_ids.shape[1]
    changes = {}
    for field in dataclasses.fields(batch):
        value = getattr(batch, field.name)
        if isinstance(value, torch.Tensor) and value.dim() > 1 and field.name != "rewards":
            if field.name.startswith("prompt_"):
                changes[field.name] = pad_left(value, prompt + more)
            elif value.shape[1] == tokens:
                changes[field.name] = pad_right(value, tokens + more)
    for name in ("extras", "token_columns"):
        values = getattr(batch, name)
        changes[name] = {
            key: pad_right(x, tokens + more) if x.dim() > 1 and x.shape[1] == tokens else x for key, x in values.items()
        }
    return batch.replace(**changes)


def test_advantages_follow_their_rows(config, started):
    trial, batch = started(config("grpo(beta=0)", dtype="float64"))
    order = torch.randperm(len(batch), generator=torch.Generator().manual_seed(2))
    shuffled = trial.context.hooks.estimate_advantages(batch=batch[order])
    torch.testing.assert_close(shuffled, batch.advantages[order], atol=1e-12, rtol=0)


def test_a_masked_row_adds_nothing(config, started):
    trial, batch = started(config("cispo", dtype="float64"))
    silent = batch[torch.tensor([0])].replace(mask=torch.zeros(1, batch.tokens, dtype=batch.mask.dtype))
    both = batch.cat([batch[1:], silent])
    assert apart(gradients(trial, batch[1:]), gradients(trial, both)) < CLOSE


def test_nothing_to_train_skips_the_step(config, started):
    trial, batch = started(config())
    learner = trial.context.learner
    before = learner.snapshot()
    metrics = learner.epoch(batch.replace(mask=torch.zeros_like(batch.mask)))
    assert metrics == {"tokens_trained": 0.0}
    assert learner.steps == 0
    assert all(torch.equal(a, b) for a, b in zip(before.tensors, learner.snapshot().tensors, strict=True))


def test_snapshot_interpolate_restore(config, started):
    trial, batch = started(config(minibatches=1))
    learner = trial.context.learner
    start = learner.snapshot()
    learner.epoch(batch)
    end = learner.snapshot()
    learner.interpolate(start, 0.25)
    for a, b, now in zip(start.tensors, end.tensors, learner.parameters, strict=True):
        torch.testing.assert_close(now.detach(), a + 0.25 * (b - a), atol=1e-7, rtol=1e-5)
    learner.restore(start)
    assert all(torch.equal(a, now) for a, now in zip(start.tensors, learner.parameters, strict=True))


def test_one_minibatch_needs_no_old_pass_and_remembers_its_start(config, started):
    trial, batch = started(config(minibatches=1))
    learner = trial.context.learner
    assert batch.logp_old is None
    assert "old" not in trial.context.ledger.categories
    first = learner.epoch(batch)
    second = learner.epoch(batch)
    assert first["log_ratio_max"] == 0.0
    assert second["log_ratio_max"] > 0.0
    assert "old" not in trial.context.ledger.categories


def test_a_cut_batch_without_old_log_probabilities_is_refused_after_a_step(config, started):
    trial, batch = started(config(minibatches=1))
    learner = trial.context.learner
    learner.epoch(batch)
    with pytest.raises(HarnessError, match="no logp_old"):
        learner.backward(batch[:3])


def test_other_rows_never_get_the_start_of_these(config, started):
    trial, batch = started(config(minibatches=1))
    learner = trial.context.learner
    learner.epoch(batch)
    assert learner.with_start(batch).logp_old is not None
    with pytest.raises(HarnessError, match="no logp_old"):  # as many rows, in another order
        learner.epoch(batch[torch.arange(len(batch)).flip(0)])


def test_a_direct_loss_is_refused_where_one_pass_does_not_fit(config, started):
    trial, batch = started(config(micro_batch=3))
    trial.context.learner.direct = "tree-loss"
    with pytest.raises(PluginError, match=r"plugin 'tree-loss'.*micro_batch to 16"):
        trial.context.learner.backward(batch)


def test_minibatches_hold_whole_groups(config, started):
    trial, batch = started(config(prompts=7, minibatches=3))
    order = torch.randperm(len(batch), generator=torch.Generator().manual_seed(3))
    parts = trial.context.learner.minibatches(batch[order])
    seen = [set(part.prompt.tolist()) for part in parts]
    assert set().union(*seen) == set(range(7))
    assert sum(map(len, seen)) == 7
    assert max(map(len, parts)) - min(map(len, parts)) <= 4


@pytest.mark.parametrize("damage", ["weights", "gradient"])
def test_not_finite_is_diverged(config, started, damage):
    trial, batch = started(config())
    learner = trial.context.learner
    if damage == "weights":
        with torch.no_grad():
            learner.parameters[0].fill_(float("nan"))
        with pytest.raises(Diverged, match="log-probabilities"):
            learner.backward(batch)
    else:
        learner.backward(batch)
        learner.parameters[0].grad.fill_(float("inf"))
        with pytest.raises(Diverged, match="gradient"):
            learner.step()


def test_what_was_evaluated_is_forgotten_when_weights_move(config, started):
    trial, batch = started(config(compute=1e6))
    learner, policy = trial.context.learner, trial.context.metered
    start, before = policy.evaluate(batch).logp, learner.snapshot()
    spent = trial.context.ledger.spent
    assert policy.evaluate(batch).logp is start
    assert trial.context.ledger.spent == spent
    learner.epoch(batch)
    after = policy.evaluate(batch).logp
    assert not torch.equal(after, start)
    learner.restore(before)
    assert torch.equal(policy.evaluate(batch).logp, start)


MODULE = """
    class Head(torch.nn.Module):
        def __init__(self, width):
            super().__init__()
            self.layer = torch.nn.Linear(width, 1)

        def forward(self, batch, hidden):
            return self.layer(hidden)[..., 0]


    @method(base="grpo(beta=0)", needs={"hidden"})
    class Judged:
        train: bool = True

        @hookimpl
        def build(self, policy):
            return {"head": Trained(Head(policy.model.config.hidden_size), train=self.train)}

        @hookimpl
        def regularize(self, output):
            return output.modules["head"]
"""


@pytest.mark.parametrize(("train", "passes"), [(True, 3), (False, 1)])
def test_a_frozen_module_is_charged_its_forward_only(config, started, plugin, train, passes):
    trial, batch = started(config(f"judged(train={train})", plugins=plugin(MODULE), minibatches=1, compute=1e6))
    context, size = trial.context, trial.context.learner.sizes["head"]
    assert context.habits.passes == pytest.approx(3 + passes * size)
    context.learner.epoch(batch)
    charged = context.ledger.categories
    assert charged["module:head"] == pytest.approx(passes * size * charged["train"] / 3)


def test_a_plugin_can_take_the_gradient_and_move_the_weights_itself(started, config):
    trial, batch = started(config(minibatches=1))
    learner = trial.context.learner
    expected = torch.cat([g.reshape(-1) for g in gradients(trial, batch)])
    learner.backward(batch)
    found = learner.gradient()
    torch.testing.assert_close(found, expected)
    assert learner.step() == {}, "nothing is left to step on"
    origin = learner.snapshot()
    learner.shift(found, -0.5)
    moved = torch.cat([(p.detach() - s).reshape(-1) for p, s in zip(learner.parameters, origin.tensors, strict=True)])
    torch.testing.assert_close(moved, -0.5 * found, atol=1e-6, rtol=1e-4)
    updates = trial.context.ledger.total.updates
    learner.stepped()
    assert trial.context.ledger.total.updates == updates + 1
