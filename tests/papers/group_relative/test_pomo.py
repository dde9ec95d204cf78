from types import SimpleNamespace

import pytest
import torch
from harness_papers.group_relative.pomo import POMO

from harness.errors import HarnessError
from harness.policies.rollouts import Request
from tests.papers.worked import ONE_OF_FOUR, advantages, approx


def generated(first_tokens, n=4):
    """The requests that follow when these first tokens are drawn for one prompt."""
    asked = []

    def generate(requests):
        asked.append(list(requests))
        ids = torch.tensor(first_tokens)[:, None]
        return SimpleNamespace(completion_ids=ids, logp=-0.5 * ids, index=torch.zeros(len(ids), dtype=torch.long))

    request = Request(key="a", prompt_ids=(1,), n=n, max_tokens=9, first_rollout=10)
    state = SimpleNamespace(policy=SimpleNamespace(stop_ids={0}))
    POMO().generate(SimpleNamespace(generate=generate), [request], state)
    assert [(part.n, part.max_tokens, part.temperature) for part in asked[0]] == [(n, 1, 2.0)]
    return asked[1]


def test_distinct_starts_in_turns():
    parts = generated([5, 7, 5, 0])
    assert [part.prefix for part in parts] == [(5,), (7,), (5,), (7,)]
    assert [part.first_rollout for part in parts] == [10, 11, 12, 13]
    assert {part.prefix_mask for part in parts} == {(0.0,)}
    assert parts[1].prefix_logp == (-3.5,)
    assert {(part.n, part.temperature, part.max_tokens) for part in parts} == {(1, 1.0, 9)}


def test_without_a_start_it_is_plain_sampling():
    (part,) = generated([0, 0, 0, 0])
    assert (part.n, part.prefix) == (4, ())


def test_the_shared_mean_is_the_baseline():
    assert advantages("pomo", ONE_OF_FOUR) == approx(advantages("dr-grpo", ONE_OF_FOUR))
    with pytest.raises(HarnessError, match="positive"):
        POMO(heat=0.0)
