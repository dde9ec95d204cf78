"""State across steps: saved and restored without code from the author."""

from collections import deque

import pytest
import torch
from torch import nn

from harness import PluginError, method
from harness.training.checkpoint import load_newest, save
from tests.batches import make_batch
from tests.host.plugins import stack


@method
class Keeper:
    """Keeps whatever it is given."""

    beta: float = 0.5


def saved(**attributes):
    built = stack("keeper", Keeper)
    for name, value in attributes.items():
        setattr(built.plugins[0][1], name, value)
    return built.state_dict()


def restored(state):
    built = stack("keeper", Keeper)
    built.load_state_dict(state)
    return built.plugins[0][1]


def test_numbers_strings_tensors_and_containers_survive_a_checkpoint(tmp_path):
    values = {
        "none": None, "flag": True, "count": 3, "rate": 0.1, "not_a_number": float("inf"), "name": "x",
        "nested": {"a": [1, (2.5, "b")], "b": {"deep": [None]}}, "by_number": {1: "one", (2, 3): "pair"},
        "kinds": ({1, 2}, frozenset({"a"}), deque([1, 2], maxlen=3)), "tagged": {"__type__": "mine"},
    }  # fmt: skip
    tensors = {"ema": torch.tensor([1.5, 2.5]), "ids": torch.arange(3), "mask": torch.tensor([True, False])}
    save(tmp_path, 1, {"plugins": saved(**values, **tensors)})
    _, tree = load_newest(tmp_path)
    plugin = restored(tree["plugins"])
    assert {name: getattr(plugin, name) for name in values} == values
    assert plugin.kinds[2].maxlen == 3
    for name, tensor in tensors.items():
        assert torch.equal(getattr(plugin, name), tensor)
        assert getattr(plugin, name).dtype == tensor.dtype


def test_batches_survive_a_checkpoint(tmp_path):
    batch = make_batch(group=[0, 0, 1, 1])
    save(tmp_path, 1, saved(replay=[batch]))
    again = restored(load_newest(tmp_path)[1]).replay[0]
    assert torch.equal(again.groups.mean(again.reward), batch.groups.mean(batch.reward))
    assert again.prompts == batch.prompts
    assert again.logp_old.dtype == batch.logp_old.dtype
    assert again.advantages is None


def test_hyper_parameters_are_not_state():
    assert saved(count=1) == {"keeper": {"count": 1}}


def test_saved_tensors_are_copies():
    tensor = torch.zeros(2)
    state = saved(ema=tensor)
    tensor += 1
    assert state["keeper"]["ema"].tolist() == [0, 0]
    plugin = restored(state)
    plugin.ema += 1
    assert state["keeper"]["ema"].tolist() == [0, 0]


def test_generators_continue_where_they_were():
    generator = torch.Generator().manual_seed(3)
    torch.rand(5, generator=generator)
    state = saved(noise=generator)
    expected = torch.rand(4, generator=generator)
    assert torch.equal(torch.rand(4, generator=restored(state).noise), expected)
    built = stack("keeper", Keeper)
    held = built.plugins[0][1].noise = torch.Generator().manual_seed(9)
    built.load_state_dict(state)
    assert torch.equal(torch.rand(4, generator=held), expected)


@pytest.mark.parametrize(
    ("value", "match"),
    [
        (object(), "keeper.bad is a object, which a checkpoint cannot hold"),
        (lambda: 1, "keeper.bad is a function"),
        ({"a": [object()]}, r"keeper\.bad\['a'\]\[0\] is a object"),
        (torch.zeros(1, requires_grad=True), "keeper.bad is a tensor that carries gradients"),
        (nn.Linear(1, 1), "keeper.bad is a Linear that `build` did not return"),
        (nn.Parameter(torch.zeros(1)), "keeper.bad is a Parameter"),
    ],
)
def test_anything_else_is_an_error_that_names_the_attribute(value, match):
    with pytest.raises(PluginError, match=match):
        saved(bad=value)


def test_run_and_built_modules_are_left_to_the_loop():
    from harness import hookimpl

    @method
    class Critic:
        @hookimpl
        def start(self, run):
            self.run = run

        @hookimpl
        def build(self):
            self.head = nn.Linear(1, 1)
            return {"critic": self.head}

    built = stack("critic", Critic)
    hooks = built.caller()
    hooks.start(run=object())
    hooks.build(policy=None, task=None)
    assert built.state_dict() == {"critic": {}}


def test_a_checkpoint_of_other_plugins_is_refused():
    with pytest.raises(PluginError, match=r"the checkpoint holds the plugins \['other'\], the stack is keeper"):
        stack("keeper", Keeper).load_state_dict({"other": {}})
