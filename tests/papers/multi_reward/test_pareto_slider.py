from types import SimpleNamespace

import pytest
import torch
from harness_papers.multi_reward.pareto_slider import ParetoSlider

from harness import probe
from harness.policies.rollouts import Request
from tests.batches import make_batch

approx = pytest.approx
REWARDS = [[1.0, 0.0], [0.0, 100.0], [0.2, 50.0]]


def advantages(told, rewards=REWARDS, **params):
    """The method learns the columns' names at its start; the probe has no task, so they are set by hand."""
    plugin = ParetoSlider(**params)
    plugin.start(SimpleNamespace(task=SimpleNamespace(reward_weights={"r0": 1.0, "r1": 1.0, "r2": 0.0})))
    batch = make_batch(rewards).with_extras(told=torch.tensor([told] * len(rewards), dtype=torch.float64))
    return plugin.estimate_advantages(batch)


def test_late_mixing_is_free_of_scale_and_early_mixing_follows_the_large_one():
    small = [[x, y / 100] for x, y in REWARDS]
    assert advantages([0.5, 0.5]).tolist() == approx(advantages([0.5, 0.5], small).tolist(), abs=1e-4)
    early = advantages([0.5, 0.5], late=False)
    assert early.argmax() == 1
    assert early.tolist() != approx(advantages([0.5, 0.5], small, late=False).tolist(), abs=0.1)


def test_one_reward_alone_is_grpo_on_it():
    alone = probe.advantages("grpo(beta=0)", [x for x, _ in REWARDS], [0] * 3)
    assert advantages([1.0, 0.0]).tolist() == approx(alone, rel=1e-4)


def test_without_sampling_all_count_alike():
    found = probe.advantages("pareto-slider", REWARDS, [0] * 3)
    assert found == approx(advantages([0.5, 0.5]).numpy())


def test_prompts_draw_weights_once_a_step_and_say_them():
    plugin = ParetoSlider()
    task = SimpleNamespace(reward_weights={"correct": 1.0, "steps": 0.0, "format": 0.2})
    state = SimpleNamespace(
        task=task, step=0, generator=torch.Generator().manual_seed(0),
        pool=SimpleNamespace(problem=lambda key: SimpleNamespace(prompt=key)),
        request=lambda key, text: Request(key, tuple(map(ord, text)), 1),
    )  # fmt: skip
    plugin.start(state)
    wrapper = plugin.allocate_rollouts(state)
    next(wrapper)
    with pytest.raises(StopIteration) as stopped:
        wrapper.send([Request("a", (1,), 2), Request("b", (1,), 2), Request("a", (1,), 3)])
    first, second, again = ("".join(map(chr, request.prompt_ids)) for request in stopped.value.value)
    assert first == again != second
    assert first.endswith(" a")
    assert sum(map(float, first.split(" ")[0].split(","))) == approx(100, abs=1)
    assert sum(plugin.drawn["a"]) == approx(1)
    assert [request.n for request in stopped.value.value] == [2, 2, 3]
