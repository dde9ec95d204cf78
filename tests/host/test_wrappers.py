"""Wrappers: what they see, what they may return, and what is said of those that do not."""

import pytest
import torch

from harness import PluginError, hookimpl, method
from harness.hookspecs import HOOKS
from tests.batches import make_batch
from tests.host.plugins import breaks, caller, output_of, plugin, ready, returning, wrapper, wrapper_breaks


def named_wrapper(name, factor):
    def estimate_advantages(self, batch):
        below = yield
        return below * factor + 1

    return method(type(name, (), {"estimate_advantages": hookimpl(wrapper=True)(estimate_advantages)}))


def test_wrappers_see_a_column_wherever_they_stand_and_further_right_is_further_out():
    base = plugin(estimate_advantages=lambda self, batch: batch.reward)
    double, triple = named_wrapper("Double", 2.0), named_wrapper("Triple", 3.0)
    batch = make_batch([1.0, 0.0])
    for classes in ((base, double, triple), (double, base, triple), (double, triple, base)):
        assert caller(*classes).estimate_advantages(batch=batch).tolist() == [[10.0], [4.0]]
    assert caller(base, triple, double).estimate_advantages(batch=batch).tolist() == [[9.0], [3.0]]


def test_a_wrapper_of_an_all_hook_sees_the_list_top_first_and_returns_a_list():
    seen = []

    def train_on(self, batch):
        values = yield
        seen.extend(values)
        return [*values, batch.mask > 0]

    one = plugin(train_on=lambda self, batch: batch.correct)
    two = method(type("Two", (), {"train_on": hookimpl(lambda self, batch: ~batch.truncated)}))
    batch = make_batch()
    chosen = caller(one, two, wrapper(train_on=train_on)).train_on(batch=batch)
    assert torch.equal(seen[0], ~batch.truncated)
    assert torch.equal(seen[1], batch.correct)
    assert torch.equal(chosen, (batch.mask > 0) & batch.correct[:, None])


def test_what_a_wrapper_adds_or_changes_is_checked_and_blamed_on_it():
    def train_on(self, batch):
        yield
        return [batch.mask]

    with wrapper_breaks("train_on", r"expected bool"):
        caller(wrapper(train_on=train_on)).train_on(batch=make_batch())

    def estimate_advantages(self, batch):
        return (yield)[1:]

    with pytest.raises(
        PluginError,
        match=r"plugin 'wrap-me' \(tests\.host\.plugins\), hook estimate_advantages: expected advantages \[4\]",
    ):
        caller(wrapper(estimate_advantages=estimate_advantages)).estimate_advantages(batch=make_batch())


def test_a_wrapper_that_returns_none_is_an_error():
    def forgets(self):
        yield

    with wrapper_breaks("estimate_advantages", r"the wrapper returned None"):
        caller(wrapper(estimate_advantages=forgets)).estimate_advantages(batch=make_batch())
    with wrapper_breaks("keep", r"the wrapper returned None; return the list"):
        caller(wrapper(keep=forgets)).keep(batch=make_batch())


def test_a_wrapper_of_next_round_that_never_returns_a_value_is_an_error():
    def forgets(self):
        asked = yield
        asked = asked or None

    def decides(self):
        asked = yield
        if asked:
            return asked
        return None

    def refuses(self):
        yield
        raise ValueError

    with pytest.raises(PluginError, match=r"WrapMe\.next_round: the wrapper never returns a value"):
        wrapper(next_round=forgets)
    assert caller(wrapper(next_round=decides)).next_round(batch=make_batch(), round=0) is None
    wrapper(next_round=refuses)


def test_a_wrapper_that_writes_into_what_it_got_is_an_error():
    def doubles(self):
        return (yield).mul_(2)

    def flips(self):
        values = yield
        return [value.logical_not_() for value in values]

    said = r"the wrapper changes in place what `yield` gave; return a new tensor"
    with wrapper_breaks("estimate_advantages", said):
        caller(wrapper(estimate_advantages=doubles)).estimate_advantages(batch=make_batch())
    kept = plugin(keep=lambda self, batch: batch.correct)
    with wrapper_breaks("keep", said):
        caller(kept, wrapper(keep=flips)).keep(batch=make_batch())


def test_a_wrapper_yields_once():
    def never(self):
        if False:
            yield

    def twice(self):
        yield
        return (yield)

    with wrapper_breaks("keep", r"the wrapper returned before its `yield`"):
        caller(wrapper(keep=never)).keep(batch=make_batch())
    with wrapper_breaks("keep", r"the wrapper yields more than once"):
        caller(wrapper(keep=twice)).keep(batch=make_batch())


def test_a_base_hook_that_returns_none_is_an_error():
    with breaks("estimate_advantages", "returned None where a value is due; is a `return` missing"):
        returning("estimate_advantages", None).estimate_advantages(batch=make_batch())


def test_identity_wrappers_change_nothing():
    def same(self):
        return (yield)

    batch = ready(make_batch())
    bare, wrapped = caller(plugin(start=lambda self: None)), caller(wrapper(**dict.fromkeys(HOOKS, same)))
    for hook in ("group_by", "augment", "shape_rewards", "estimate_advantages", "aggregate"):
        left, right = getattr(bare, hook)(batch=batch), getattr(wrapped, hook)(batch=batch)
        assert left is right or torch.equal(left, right)
    output = output_of(batch)
    assert torch.equal(bare.loss(batch=batch, output=output), wrapped.loss(batch=batch, output=output))
    assert wrapped.regularize(batch=batch, output=output) == []
    assert wrapped.train_on(batch=batch) is None
    wrapped.start(run=None)
    assert wrapped.end_step(batch=batch, metrics={}) == {}
