"""Calling hooks: edges, state, time, and what a call costs."""

from types import SimpleNamespace

import torch

from tests.batches import make_batch
from tests.host.plugins import caller, output_of, plugin, ready

NAN = float("nan")


def test_empty_rows_and_groups_of_one_are_legal():
    batch = make_batch([1.0, 0.0, 1.0], group=[0, 1, 2], lengths=[0, 2, 0])
    hooks = caller(plugin(estimate_advantages=lambda self, batch: torch.where(batch.lengths > 0, batch.reward, NAN)))
    found = hooks.estimate_advantages(batch=batch)
    assert found.tolist() == [[0.0], [0.0], [0.0]]  # not finite at rows without a token: nothing there counts
    assert hooks.aggregate(batch=batch).isfinite().all()


def test_state_is_passed_and_told_which_hook_runs():
    state = SimpleNamespace(hook="outside", seen=[])

    def policy_loss(self, batch, output, state):
        state.seen.append(state.hook)
        return -output.logp

    def loss(self, batch, output, hooks, state):
        before = state.hook
        total = hooks.policy_loss(batch=batch, output=output).sum()
        state.seen += [before, state.hook]
        return total

    batch = ready(make_batch())
    caller(plugin(policy_loss=policy_loss, loss=loss), state=state).loss(batch=batch, output=output_of(batch))
    assert state.seen == ["policy_loss", "loss", "loss"]
    assert state.hook == "outside"


def test_time_is_counted_once_where_hooks_nest():
    import time

    def policy_loss(self, output):
        time.sleep(0.02)
        return -output.logp

    batch = ready(make_batch())
    hooks = caller(plugin(policy_loss=policy_loss))
    hooks.loss(batch=batch, output=output_of(batch))
    assert hooks.seconds["policy_loss"] >= 0.02
    assert hooks.seconds["loss"] < 0.02
    assert hooks.calls == {"loss": 1, "policy_loss": 1}
    assert ("probe-me", "policy_loss") in hooks.called
    assert hooks.current is None
