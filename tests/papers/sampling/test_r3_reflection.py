from types import SimpleNamespace

import pytest
from harness_papers.sampling.r3_reflection import R3Reflection

from harness import PromptRecord
from harness.policies.rollouts import Request
from tests.batches import make_batch


def state(batch=None):
    policy = SimpleNamespace(decode=lambda ids: f"<{len(ids)}>", stop_ids=(99,))
    pool = SimpleNamespace(problem=lambda key: SimpleNamespace(prompt=f"{key}?"))
    request = lambda key, text=None: Request(key, tuple(map(ord, text or key)), 4)  # noqa: E731
    return SimpleNamespace(policy=policy, pool=pool, request=request, gathered=batch)


def visited(rewards, **params):
    plugin = R3Reflection(**params)
    plugin.start()
    prompts = (PromptRecord("a", "", "t"),) * len(rewards)
    batch = make_batch(rewards, lengths=[3, *[1] * (len(rewards) - 1)], prompts=prompts)
    plugin.end_step(state(batch))
    return plugin, batch


def asked(plugin, key="a"):
    wrapper = plugin.allocate_rollouts(state())
    next(wrapper)
    with pytest.raises(StopIteration) as stopped:
        wrapper.send([Request(key, tuple(map(ord, key)), 8)])
    (request,) = stopped.value.value
    assert request.n == 8
    return "".join(map(chr, request.prompt_ids))


def test_a_hard_prompt_is_asked_beside_its_first_wrong_answer():
    plugin, _ = visited([0.0, 0.0])
    assert asked(plugin) == "a?<3>\nwrong\na?"
    assert asked(plugin, "b") == "b"


def test_a_prompt_that_went_well_is_asked_plainly():
    assert asked(visited([1.0, 0.0])[0]) == "a"
    assert asked(visited([1.0, 0.0], tau=0.6)[0]) == "a?<1>\nwrong\na?"
    assert asked(visited([1.0, 1.0], tau=2.0)[0]) == "a"


def test_in_the_same_step_only_where_asked_for():
    plugin, batch = visited([0.0, 0.0])
    assert plugin.next_round(batch, 0, state()) is None
    plugin, batch = visited([0.0, 0.0], at_once=True)
    (request,) = plugin.next_round(batch, 0, state())
    assert "".join(map(chr, request.prompt_ids)) == "a?<3>\nwrong\na?"
    assert plugin.next_round(batch, 1, state()) is None
    plugin, batch = visited([1.0, 1.0], at_once=True)
    assert plugin.next_round(batch, 0, state()) is None
