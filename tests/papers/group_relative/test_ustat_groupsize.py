from types import SimpleNamespace

import pytest
import torch
from harness_papers.group_relative.ustat_groupsize import UStatGroupSize

from harness.errors import HarnessError
from harness.policies.rollouts import Request

POOL = SimpleNamespace(at_step=lambda step, count: [f"{step}.{i}" for i in range(count)])


def state(**fields):
    return SimpleNamespace(step=3, **({"group_size": 4, "prompts_per_step": 16} | fields))


def test_the_number_of_completions_stays():
    plugin = UStatGroupSize()
    prompts = plugin.select_prompts(POOL, 16, state())
    assert prompts[:2] == ["3.0", "3.1"]
    assert len(prompts) == 8
    hook = plugin.allocate_rollouts(state())
    next(hook)
    with pytest.raises(StopIteration) as end:
        hook.send([Request(key="a", prompt_ids=(1,), n=4)] * 8)
    assert [request.n for request in end.value.value] == [8] * 8


@pytest.mark.parametrize(("within", "size"), [(1e-9, 2), (16.0, 4), (1e9, 64)])
def test_the_size_follows_the_constants_within_bounds(within, size):
    plugin = UStatGroupSize(within=within)
    assert plugin._size(16, state()) == size
    assert len(plugin.select_prompts(POOL, 16, state())) == 64 // size


def test_pairs_of_differences_are_the_leave_one_out_gradient():
    noise = torch.Generator().manual_seed(0)
    scores = torch.rand(5, 3, generator=noise, dtype=torch.float64)
    rewards = torch.rand(5, generator=noise, dtype=torch.float64)
    pairs = (scores[:, None] - scores) * (rewards[:, None] - rewards)[..., None] / 2
    advantages = rewards - (rewards.sum() - rewards) / 4
    assert torch.allclose(pairs.sum((0, 1)) / 20, (scores * advantages[:, None]).mean(0))
    with pytest.raises(HarnessError, match="positive"):
        UStatGroupSize(within=0.0)
