from types import SimpleNamespace

import pytest
import torch
from harness_papers.group_relative.cal_grpo import CALGRPO

from harness.errors import HarnessError
from tests.batches import make_batch
from tests.papers.worked import ONE_OF_FOUR, advantages, approx


def attempts(rewards, rounds, **fields):
    return make_batch(rewards, round=torch.tensor(rounds), **fields)


def test_an_attempt_counts_as_far_as_later_ones_fail():
    batch = attempts([1.0, 0.0, 0.0, 0.0, 1.0, 0.0], [0, 0, 0, 1, 1, 2])
    got = CALGRPO().estimate_advantages(batch)
    # First attempts: (1 - 1/2)(1 - 0) of what RLOO gives; second: (1 - 0); the third stands alone.
    assert got.tolist() == approx([0.5, -0.25, -0.25, -1, 1, 0])
    naive = CALGRPO(calibrated=False).estimate_advantages(batch)
    assert naive[:3].tolist() == approx([1, -0.5, -0.5])


def test_the_expected_gradient_is_that_of_being_solved_at_last():
    """Independent attempts that succeed with .3 and .6: .084 and .168 of the two logits."""
    noise = torch.Generator().manual_seed(0)
    count, prompts = 4, 20000
    first = torch.rand(prompts, count, generator=noise) < 0.3
    second = (torch.rand(prompts, count, generator=noise) < 0.6) & ~first
    keys = torch.arange(prompts)[:, None].expand_as(first)
    rows = torch.cat([torch.ones_like(first), ~first], 1).reshape(-1)
    outcome = torch.cat([first, second], 1).reshape(-1)[rows].double()
    rounds = torch.cat([torch.zeros_like(keys), torch.ones_like(keys)], 1).reshape(-1)[rows]
    group = torch.cat([keys, keys], 1).reshape(-1)[rows]
    batch = make_batch(outcome, group.tolist(), lengths=[1] * len(outcome), round=rounds)
    found = CALGRPO(attempts=2).estimate_advantages(batch)
    for attempt, chance, expected in ((0, 0.3, 0.3 * 0.7 * 0.4), (1, 0.6, 0.7 * 0.6 * 0.4)):
        score = torch.where(rounds == attempt, outcome - chance, 0.0)  # the slope of log-probability in the logit
        slope = float((score * found).sum()) / (prompts * count)
        assert slope == approx(expected, abs=0.012)


def test_wrong_attempts_are_shown_and_tried_again():
    asked = []
    state = SimpleNamespace(
        request=lambda key, n, text: asked.append((key, n, text)) or text,
        policy=SimpleNamespace(stop_ids={0}, decode=lambda ids: "".join(map(str, ids))),
    )
    batch = attempts([1.0, 0.0, 0.0], [0, 0, 0], lengths=[2, 2, 1])
    batch = batch.replace(completion_ids=torch.tensor([[1, 0], [2, 0], [3, 9]]))
    assert CALGRPO().next_round(batch, 0, state) == ["0=2\n0=", "0=3\n0="]
    assert asked[0] == ("t:0", 1, "0=2\n0=")
    assert CALGRPO().next_round(batch, 1, state) is None
    assert CALGRPO(attempts=1).next_round(batch, 0, state) is None


def test_trajectories_are_the_divisor_and_one_attempt_is_rloo():
    batch = attempts([0.0, 0.0, 1.0], [0, 0, 1], lengths=[1, 1, 2])
    assert CALGRPO().aggregate(batch).sum(1).tolist() == [0.5, 0.5, 1.0]
    assert advantages("cal-grpo", ONE_OF_FOUR) == approx(advantages("rloo(beta=0)", ONE_OF_FOUR))
    with pytest.raises(HarnessError, match="at least one"):
        CALGRPO(attempts=0)
