"""Whoever moves a global generator is named, with the hook, and told what to draw from."""

from __future__ import annotations

import random

import pytest
import torch

from harness import hookimpl, method
from harness.conformance import random_state, run_checks, subjects
from harness.errors import CheckFailed
from tests.batches import make_batch
from tests.conformance.plugins import GlobalRandom
from tests.host.plugins import caller


def test_the_check_names_plugin_hook_and_remedy():
    (subject,) = subjects(GlobalRandom)
    (finding,) = run_checks(subject, ("determinism",)).findings
    assert finding.status == "FAIL"
    whose, _, remedy = finding.text.partition("; ")
    assert whose == "plugin 'global-random', hook estimate_advantages moves the global generator of torch"
    assert remedy == "draw from state.generator"


@method
class Coin:
    @hookimpl
    def keep(self, batch):
        return batch.reward > random.random()


@method
class Rescue:
    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch):
        try:
            return (yield)
        except ZeroDivisionError:
            return batch.reward


@method
class Broken:
    @hookimpl
    def estimate_advantages(self):
        raise ZeroDivisionError


def test_a_plain_hook_is_watched_on_its_own():
    before = random.getstate()
    hooks = caller(Coin)
    random_state.watch(hooks)
    with pytest.raises(CheckFailed, match=r"^plugin 'coin', hook keep moves the global generator of random; "):
        hooks.keep(batch=make_batch())
    random.setstate(before)


def test_what_draws_nothing_is_as_it_was():
    hooks = caller(Broken, Rescue)
    random_state.watch(hooks)
    batch = make_batch([1.0, 0.0])
    assert torch.equal(hooks.estimate_advantages(batch=batch), batch.reward[:, None])
    assert hooks.keep(batch=batch).all()
