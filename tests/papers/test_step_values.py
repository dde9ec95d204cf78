from types import SimpleNamespace

import pytest
import torch
from harness_papers.step_values import answer_values, first_of_step, step_ends, step_numbers

from harness.policies.random import tiny_policy
from tests.batches import make_batch

approx = pytest.approx
ENDS = torch.tensor([False, True, False])  # token 1 ends a step
IDS = torch.tensor([[2, 1, 2, 2, 1], [2, 1, 1, 0, 0], [0, 0, 0, 0, 0]])


def batch(**fields):
    return make_batch([1.0] * 3, lengths=[5, 3, 0], completion_ids=IDS, **fields)


def test_steps_end_with_their_mark():
    step = step_numbers(batch(), ENDS)
    assert step[0].tolist() == [0, 0, 1, 1, 1]
    assert step[1, :3].tolist() == [0, 0, 1]
    begins = first_of_step(batch(), step)
    assert begins[0].tolist() == [True, False, True, False, False]
    assert begins.sum(1).tolist() == [2, 2, 0]


def test_the_answer_is_scored_behind_each_step_by_the_policy():
    policy = tiny_policy(seed=0, width=16, intermediate=32, characters="0123456789+=#;")
    policy.micro_batch = 2
    text = "1+1=2;#2"
    ids = torch.tensor([policy.encode(text)])
    rows = make_batch([1.0], lengths=[len(text)], completion_ids=ids)
    problem = SimpleNamespace(answer=12)
    pool = SimpleNamespace(problem=lambda _: problem)
    step = step_numbers(rows, step_ends(policy, ";"))
    assert step[0].tolist() == [0] * 6 + [1] * 2
    found = answer_values(rows, policy, pool, step, "#", mean=False)
    prompt = rows.prompt_ids[0].tolist()
    for place, shown in ((0, ""), (6, "1+1=2;")):
        expected = policy.score([[*prompt, *policy.encode(shown + "#")]], [policy.encode("12")]).sum()
        assert float(found["value_before"][0, place]) == approx(float(expected), abs=1e-5)
    assert found["value_after"][0, 0] == found["value_before"][0, 6]
    halves = answer_values(rows, policy, pool, step, "#", mean=True)
    assert float(halves["value_after"][0, 7] * 2) == approx(float(found["value_after"][0, 7]))
    problem.answer = [1, 2]
    assert answer_values(rows, policy, pool, step, "#", mean=True)["value_after"].isnan().all()
    nobody = torch.tensor([False])
    assert answer_values(rows, policy, pool, step, "#", mean=True, where=nobody)["value_after"].isnan().all()
