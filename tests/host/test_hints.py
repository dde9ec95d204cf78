"""What everyone gets wrong once says what to do: the exception keeps its type, and its line ends with a hint."""

from types import SimpleNamespace

import pytest
import torch

from harness import PolicyOutput, hookimpl, method
from harness.errors import told
from harness.mathematics import kl_estimate
from harness.training.state import State
from tests.batches import make_batch
from tests.host.plugins import caller, output_of, ready


def advise(cls, hook="estimate_advantages", error=Exception, **arguments):
    """The line that tells what a hook of a plugin raised on a small batch."""
    arguments = {"batch": make_batch(entropy=None, logp_ref=None)} | arguments
    state = arguments.pop("state", None)
    with pytest.raises(error) as caught:
        getattr(caller(cls, state=state), hook)(**arguments)
    line = told(caught.value)
    assert line.startswith(f"plugin 'idea' (tests.host.test_hints), hook {hook}, at ")
    assert "\n" not in line
    return line


def test_a_field_that_was_not_asked_for_names_the_need():
    @method
    class Idea:
        @hookimpl
        def estimate_advantages(self, batch):
            return batch.reward * batch.entropy.mean(-1)

    line = advise(Idea, error=AttributeError)
    assert line.endswith("no attribute 'mean'; batch.entropy is None: declare needs={'entropy'} in @method")


def test_the_field_may_have_been_read_in_another_line():
    @method
    class Idea:
        @hookimpl
        def estimate_advantages(self, batch):
            greedy = batch.greedy_reward
            return batch.reward - greedy

    assert advise(Idea, error=TypeError).endswith("; batch.greedy_reward is None: declare needs={'greedy'} in @method")


def test_the_fault_may_show_inside_the_harness():
    @method
    class Idea:
        @hookimpl
        def regularize(self, batch, output):
            weight = 0.0 if batch.entropy is None else 1.0  # another empty field, which is not what failed
            return weight * kl_estimate(output.logp, batch.logp_ref, kind="k3")

    batch = ready(make_batch(entropy=None, logp_ref=None))
    line = advise(Idea, "regularize", error=TypeError, batch=batch, output=output_of(batch))
    assert line.endswith("; batch.logp_ref is None: declare needs={'reference'} in @method")


@pytest.mark.parametrize(("field", "need"), [("hidden", "hidden"), ("prompt_hidden", "hidden"), ("entropy", "entropy")])
def test_fields_of_the_output(field, need):
    @method
    class Idea:
        which: str = ""

        @hookimpl
        def policy_loss(self, output):
            return output.entropy.sum() if field == "entropy" else self.of(output)

        def of(self, output):
            if field == "hidden":
                return output.hidden.sum()
            return output.prompt_hidden.sum()

    batch = ready(make_batch())
    line = advise(Idea, "policy_loss", error=AttributeError, batch=batch, output=output_of(batch))
    assert line.endswith(f"; output.{field} is None: declare needs={{'{need}'}} in @method")


def test_a_need_that_is_declared_is_not_met_too_early():
    @method(needs={"entropy"})
    class Idea:
        @hookimpl
        def keep(self, batch):
            return batch.entropy.mean(-1) > 0

    assert advise(Idea, "keep").endswith(
        "; batch.entropy is None: it is measured before annotate, and keep runs earlier"
    )


def test_what_a_later_hook_sets():
    @method
    class Idea:
        @hookimpl
        def shape_rewards(self, batch):
            return batch.replace(rewards=batch.advantages * 2)

    assert advise(Idea, "shape_rewards").endswith("; batch.advantages is None: it is set after estimate_advantages")


def test_no_reference_policy():
    @method
    class Idea:
        @hookimpl
        def estimate_advantages(self, batch, state):
            return state.reference.run(batch).logp

    line = advise(Idea, state=SimpleNamespace(reference=None, hook=None))
    assert line.endswith("; state.reference is None: declare needs={'reference'} in @method")


def test_none_of_the_plugins_own_gets_no_advice():
    @method
    class Idea:
        @hookimpl
        def estimate_advantages(self, batch):
            mean = None
            return batch.reward - mean

    assert advise(Idea, error=TypeError).endswith("'NoneType'")


def test_assigning_to_a_field_of_the_batch():
    @method
    class Idea:
        @hookimpl
        def shape_rewards(self, batch):
            batch.rewards *= 2
            return batch

    line = advise(Idea, "shape_rewards", error=AttributeError)
    assert line.endswith("; what hooks receive never changes: make a copy, batch.replace(rewards=...)")


def test_state_that_was_never_set():
    @method
    class Idea:
        share: float = 1.0

        @hookimpl
        def estimate_advantages(self, batch):
            self.n += 1
            return batch.reward

    @method(name="idea")
    class Misspelt:
        share: float = 1.0

        @hookimpl
        def estimate_advantages(self, batch):
            return batch.reward * self.shrae

    line = advise(Idea, error=AttributeError)
    assert line.endswith("has no attribute 'n'; set self.n in the hook start, or make it a field of the class")
    assert advise(Misspelt, error=AttributeError).endswith("has no attribute 'shrae'; did you mean 'share'?")


def test_misspelt_fields_of_what_hooks_receive():
    @method
    class Idea:
        @hookimpl
        def estimate_advantages(self, batch):
            return batch.rewrd

        @hookimpl
        def policy_loss(self, output):
            return output.ration

        @hookimpl
        def keep(self, state):
            return state.proggress

        @hookimpl
        def train_on(self, batch):
            return batch.groups.standardise(batch.reward)

        @hookimpl
        def aggregate(self, batch):
            return batch.nothing_of_the_kind

    batch = ready(make_batch())
    assert advise(Idea).endswith("'rewrd'; did you mean 'reward'?")
    assert advise(Idea, "train_on").endswith("; did you mean 'standardize'?")
    assert advise(Idea, "aggregate").endswith("no attribute 'nothing_of_the_kind'")
    output = PolicyOutput(logp=batch.logp_old, logp_old=batch.logp_old, mask=batch.mask)
    assert advise(Idea, "policy_loss", batch=batch, output=output).endswith("; did you mean 'ratio'?")
    state = State.__new__(State)
    state.progress = 0.0
    assert advise(Idea, "keep", state=state).endswith("'proggress'; did you mean 'progress'?")


def test_other_libraries_objects_get_no_advice():
    @method
    class Idea:
        @hookimpl
        def estimate_advantages(self, batch):
            return torch.zeros(1).meann()

    assert advise(Idea, error=AttributeError).endswith("no attribute 'meann'")
