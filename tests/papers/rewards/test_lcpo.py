from types import SimpleNamespace

import pytest
import torch
from harness_papers.rewards.lcpo import LCPO

from harness import probe
from harness.policies.rollouts import Request

approx = pytest.approx


def reward(correct, lengths, budget=512, **params):
    fields = {"lengths": lengths, "budget": [budget] * len(lengths)}
    return probe.rewards("lcpo", correct, None, params=params, **fields)["budget"]


def test_exact_pays_for_distance_whatever_the_answer():
    assert reward([1, 0], [700, 700]) == approx([0.9436, -0.0564])


def test_max_pays_for_staying_under():
    assert reward([1, 1, 0], [412, 612, 1], mode="max") == approx([0.53, 0.47, 0])
    added = reward([1, 1, 0], [412, 612, 512], mode="max_added")
    assert added == approx([1.515, 1.485, 0.5])


def test_budgets_are_drawn_and_put_into_the_prompt():
    plugin = LCPO(shortest=0.25, longest=0.5)
    plugin.start()
    asked = []
    state = SimpleNamespace(
        max_tokens=40,
        generator=torch.Generator().manual_seed(0),
        pool=SimpleNamespace(problem=lambda key: SimpleNamespace(prompt=f"{key}=")),
        request=lambda key, text: asked.append(text) or Request(key, (1, 2), 4),
    )
    wrapper = plugin.allocate_rollouts(state)
    next(wrapper)
    with pytest.raises(StopIteration) as stopped:
        wrapper.send([Request("1+1", (7,), 4), Request("2+2", (7,), 4), Request("1+1", (7,), 4)])
    requests = stopped.value.value
    assert [request.n for request in requests] == [4, 4, 4]
    assert all(request.prompt_ids == (1, 2) for request in requests)
    assert all(10 <= budget <= 20 for budget in plugin.budgets.values())
    assert asked == [f"{plugin.budgets[key]};{key}=" for key in ("1+1", "2+2", "1+1")]
