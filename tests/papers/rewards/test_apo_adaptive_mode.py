import pytest
from harness_papers.rewards.apo_adaptive_mode import APO

from harness import probe
from harness.policies.rollouts import Request

approx = pytest.approx


def reward(right, forced, thinks, **params):
    fields = {"correct": [bool(x) for x in right], "forced": forced, "reasons": thinks, "params": params}
    return probe.rewards("apo-adaptive-mode", [float(x) for x in right], [0] * len(right), **fields)["adaptive"]


def test_reasoning_earns_less_the_more_forced_answers_are_right():
    forced = [True] * 5 + [False] * 3
    thinks = [False] * 5 + [True, False, True]
    assert reward([1, 1, 1, 1, 0, 1, 1, 0], forced, thinks) == approx([1, 1, 1, 1, 0, 0.36, 1, 0])
    assert reward([0, 0, 0, 0, 0, 1, 1, 0], forced, thinks)[5:] == approx([1, 1, 0])
    assert reward([1] * 8, forced, thinks)[5:] == approx([0, 1, 0])
    assert reward([1, 0, 0, 0, 1, 1, 0, 0], [True] * 4 + [False] * 4, thinks)[4:] == approx([1, 0.9375, 0, 0])


def test_nobody_forced_costs_nothing_and_form_is_a_factor():
    assert reward([1, 1, 0], [False] * 3, [True] * 3) == approx([1, 1, 0])
    fields = {"reward_names": ["correct", "format"], "correct": [True, True]}
    assert probe.rewards("apo-adaptive-mode", [[1, 1], [1, 0]], [0, 0], **fields)["adaptive"] == approx([1, 0])


def test_a_request_is_split_and_the_prefix_does_not_train():
    free, must = APO().split(Request("k", (1,), 8), (7,))
    assert (free.n, must.n, must.prefix, must.prefix_mask) == (6, 2, (7,), (0.0,))
    assert [part.n for part in APO().split(Request("k", (1,), 2), (7,))] == [1, 1]
    assert len(APO().split(Request("k", (1,), 1), (7,))) == 1
    assert len(APO().split(Request("k", (1,), 8, prefix=(3,)), (7,))) == 1
