"""Whose a fault is: exceptions keep their type and say which plugin they came from."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from harness import PluginError, UsageError, hookimpl, method
from harness.errors import told
from harness.host import build_stack, discover
from tests.batches import make_batch
from tests.host.plugins import breaks, caller, output_of, plugin, ready, stack, wrapper


def notes(error):
    return getattr(error.value, "__notes__", [])


def test_an_exception_keeps_its_type_and_names_plugin_hook_and_place():
    def keep(self, batch):
        return batch.no_such_field

    with pytest.raises(AttributeError, match="no_such_field") as caught:
        caller(plugin(keep=keep)).keep(batch=make_batch())
    (note,) = notes(caught)
    assert re.fullmatch(r"plugin 'probe-me' \(tests\.host\.plugins\), hook keep, at .*test_blame\.py:\d+", note)
    line = told(caught.value)
    assert line.startswith(note + ": AttributeError: ")
    assert "\n" not in line


def test_a_hook_that_exits_is_blamed_as_any_other():
    def keep(self, batch):
        raise SystemExit(3)

    def leaves(self):
        yield
        raise SystemExit

    batch = make_batch()
    with pytest.raises(PluginError, match=r"plugin 'probe-me' .*hook keep, at .*test_blame\.py:\d+: SystemExit\(3\)"):
        caller(plugin(keep=keep)).keep(batch=batch)
    with pytest.raises(PluginError, match=r"plugin 'wrap-me' .*hook keep, at .*: SystemExit; raise an exception"):
        caller(wrapper(keep=leaves)).keep(batch=batch)


def test_the_place_is_the_plugins_own_line_not_the_library_that_raised():
    def estimate_advantages(self, batch):
        return torch.cat([batch.reward, batch.mask])  # line of interest

    with pytest.raises(RuntimeError) as caught:
        caller(plugin(estimate_advantages=estimate_advantages)).estimate_advantages(batch=make_batch())
    number = int(notes(caught)[0].rpartition(":")[2])
    assert "line of interest" in Path(__file__).read_text().splitlines()[number - 1]


def test_an_exception_of_the_base_is_not_blamed_on_the_wrapper():
    def around(self):
        return (yield)

    def fails(self, batch):
        raise ValueError("broken")

    hooks = caller(plugin(estimate_advantages=fails), wrapper(estimate_advantages=around))
    with pytest.raises(ValueError, match="broken") as caught:
        hooks.estimate_advantages(batch=make_batch())
    assert len(notes(caught)) == 1
    assert "plugin 'probe-me'" in notes(caught)[0]


def test_an_exception_that_comes_through_a_hook_that_called_another_is_blamed_once():
    def policy_loss(self):
        raise ZeroDivisionError("inner")

    def loss(self, batch, output, hooks):
        return hooks.policy_loss(batch=batch, output=output).sum()

    batch = ready(make_batch())
    outer = method(type("Outer", (), {"loss": hookimpl(loss)}))
    with pytest.raises(ZeroDivisionError) as caught:
        caller(plugin(policy_loss=policy_loss), outer).loss(batch=batch, output=output_of(batch))
    assert len(notes(caught)) == 1
    assert "plugin 'probe-me'" in notes(caught)[0]


def test_an_exception_of_a_wrapper_is_its_own():
    def before(self):
        raise ValueError("early")
        yield

    def after(self):
        yield
        raise ValueError("late")

    for function, text in ((before, "early"), (after, "late")):
        with pytest.raises(ValueError, match=text) as caught:
            caller(wrapper(estimate_advantages=function)).estimate_advantages(batch=make_batch())
        assert "plugin 'wrap-me'" in notes(caught)[0]


def test_a_wrapper_may_recover_from_what_lies_below():
    def rescue(self, batch):
        try:
            return (yield)
        except ValueError:
            return batch.reward

    def fails(self):
        raise ValueError("broken")

    hooks = caller(plugin(estimate_advantages=fails), wrapper(estimate_advantages=rescue))
    assert hooks.estimate_advantages(batch=make_batch([1.0, 0.0])).tolist() == [[1.0], [0.0]]


def test_faults_name_distribution_and_version(tmp_path):
    file = tmp_path / "my_idea.py"
    file.write_text(
        "from harness import hookimpl, method\n\n@method\nclass MyIdea:\n"
        "    @hookimpl\n    def keep(self, batch):\n        return batch.reward\n"
    )
    hooks = build_stack("my-idea", discover([file])).caller()
    with pytest.raises(PluginError) as caught:
        hooks.keep(batch=make_batch())
    text = str(caught.value)
    assert text.startswith("plugin 'my-idea' (my_idea), hook keep: expected bool [4], got float64 tensor [4]; ")
    assert f"`harness check {file}`" in text
    with pytest.raises(PluginError, match=r"plugin 'probe-me' \(tests\.host\.plugins\)"):
        caller(plugin(keep=lambda self, batch: batch.reward)).keep(batch=make_batch())


def test_an_error_kind_of_the_harness_raised_by_a_plugin_names_it_in_its_text():
    def keep(self, batch):
        raise UsageError("no such column")

    with breaks("keep", "no such column") as caught:
        caller(plugin(keep=keep)).keep(batch=make_batch())
    assert isinstance(caught.value.__cause__, UsageError)


def test_a_caller_that_failed_leaves_nothing_behind():
    """A fresh caller over the same stack works: what pluggy half-registers goes with its manager."""

    def keep(self, batch):
        if self.broken:
            raise ValueError("broken")
        return batch.correct

    built = stack("probe-me", plugin(keep=keep))
    built.plugins[0][1].broken = True
    hooks = built.caller()
    with pytest.raises(ValueError, match="broken"):
        hooks.keep(batch=make_batch())
    assert hooks.current is None
    built.plugins[0][1].broken = False
    assert hooks.keep(batch=make_batch()).tolist() == built.caller().keep(batch=make_batch()).tolist()


def test_errors_that_a_plugin_raises_itself_are_blamed_once():
    def policy_loss(self):
        raise PluginError("needs a reference")

    batch = ready(make_batch())
    with breaks("policy_loss", "needs a reference") as caught:
        caller(plugin(policy_loss=policy_loss)).loss(batch=batch, output=output_of(batch))
    assert str(caught.value).count("hook") == 1


def test_errors_of_the_defaults_are_not_blamed_on_a_plugin():
    def score(rollouts):
        raise KeyError("task")

    with pytest.raises(KeyError):
        caller(plugin(start=lambda self: None)).score(
            rollouts=SimpleNamespace(mask=torch.ones(1, 1)), task=SimpleNamespace(score=score)
        )


def test_extras_may_be_added_never_overwritten():
    def adds(self, batch):
        batch.extras["mine"] = batch.reward
        return batch.reward

    def overwrites(self, batch):
        batch.extras["theirs"] = batch.reward
        return batch.reward

    def drops(self, batch):
        batch.extras["mine"] = batch.reward[1:]
        return batch.reward

    batch = make_batch(extras={"theirs": torch.zeros(4)})
    caller(plugin(estimate_advantages=adds)).estimate_advantages(batch=batch)
    assert set(batch.extras) == {"theirs", "mine"}
    with breaks("estimate_advantages", "extras to be added, never overwritten"):
        caller(plugin(estimate_advantages=overwrites)).estimate_advantages(batch=batch)
    with breaks("estimate_advantages", "the extra 'mine' as a detached tensor with 4 rows"):
        caller(plugin(estimate_advantages=drops)).estimate_advantages(batch=make_batch())
