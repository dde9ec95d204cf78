"""Implementations that no call reaches by the end of a step."""

import pytest
import torch

from harness import PluginError, PolicyOutput, hookimpl, method
from tests.batches import make_batch
from tests.host.plugins import caller


@method
class Whole:
    """A loss of its own, which never asks for token losses."""

    @hookimpl
    def loss(self, output):
        return output.logp.sum()


@method
class Base:
    @hookimpl
    def estimate_advantages(self, batch):
        return batch.reward

    @hookimpl
    def policy_loss(self, output):
        return output.logp


@method
class Truncate:
    """Only wraps the token losses."""

    @hookimpl(wrapper=True)
    def policy_loss(self):
        return (yield)


@method
class Watch:
    """Exempt hooks only."""

    @hookimpl
    def end_step(self):
        return None

    @hookimpl
    def annotate(self):
        return {}


def run_step(hooks, *, trains=True):
    batch = make_batch()
    for hook in ("group_by", "keep", "augment", "shape_rewards", "train_on"):
        getattr(hooks, hook)(batch=batch)
    batch = batch.replace(advantages=hooks.estimate_advantages(batch=batch))
    if trains:
        batch = batch.replace(weights=hooks.aggregate(batch=batch))
        output = PolicyOutput(logp=torch.zeros_like(batch.mask), logp_old=batch.logp_old, mask=batch.mask)
        hooks.loss(batch=batch, output=output)
        hooks.regularize(batch=batch, output=output)


def test_a_wrapper_that_nothing_calls_names_what_hides_it():
    hooks = caller(Whole, Truncate)
    run_step(hooks)
    with pytest.raises(
        PluginError, match=r"policy_loss of 'truncate' was not called by the end of step 0: loss of 'whole' never calls"
    ):
        hooks.check_hidden(0)


def test_parts_of_a_plain_plugin_may_be_replaced_by_a_loss():
    hooks = caller(Base, Whole)
    run_step(hooks)
    hooks.check_hidden(0)


def test_a_plain_plugin_of_which_nothing_is_called_is_an_error():
    only_loss = method(type("Only", (), {"policy_loss": hookimpl(lambda self, output: output.logp)}))
    hooks = caller(only_loss, Whole)
    run_step(hooks)
    with pytest.raises(PluginError, match=r"policy_loss of 'only' was not called"):
        hooks.check_hidden(0)


def test_a_step_that_did_not_train_settles_nothing():
    hooks = caller(Whole, Truncate)
    run_step(hooks, trains=False)
    hooks.check_hidden(0)
    run_step(hooks)
    with pytest.raises(PluginError, match=r"by the end of step 1"):
        hooks.check_hidden(1)


def test_start_build_annotate_and_end_step_are_exempt():
    hooks = caller(Base, Watch)
    run_step(hooks)
    hooks.check_hidden(0)


def test_a_stack_that_works_passes():
    hooks = caller(Base, Truncate)
    run_step(hooks)
    hooks.check_hidden(0)
    hooks.check_hidden(1)
