from types import SimpleNamespace

import torch
from harness_papers.judging import first_of_each, judged_by_role, rows_of_prompts, text_of, with_role

from harness.policies.rollouts import Request
from tests.batches import make_batch

BATCH = make_batch([1.0, 0.0, 0.0, 1.0, 1.0], [0, 0, 1, 1, 2], rollout=torch.tensor([1, 0, 3, 2, 0]))


def test_rows_by_prompt_in_the_order_of_their_numbers():
    assert rows_of_prompts(BATCH, torch.ones(5, dtype=torch.bool)) == {"t:0": [1, 0], "t:1": [3, 2], "t:2": [4]}
    assert rows_of_prompts(BATCH, BATCH.correct) == {"t:0": [0], "t:1": [3], "t:2": [4]}


def test_pairs_of_prompts_that_have_both():
    assert first_of_each(BATCH, BATCH.correct, ~BATCH.correct) == [(0, 1), (3, 2)]
    same = make_batch([1.0, 1.0], [0, 0], rollout=torch.tensor([1, 0]))
    assert first_of_each(same, same.correct) == [(1,)]


def test_roles_number_the_requests_of_a_prompt_in_later_rounds():
    requests = (Request("a", (1,), 1), Request("a", (2,), 2), Request("b", (1,), 1))
    rollouts = SimpleNamespace(requests=requests, index=torch.tensor([0, 1, 1, 2]), mask=torch.ones(4, 1), extras={})
    rollouts.replace = lambda extras: extras["role"].tolist()
    assert with_role(rollouts, 0) == [0, 0, 0, 0]
    assert with_role(rollouts, 1) == [1, 2, 2, 1]
    assert judged_by_role(BATCH).tolist() == [0] * 5


def test_texts_leave_the_end_out():
    batch = make_batch([1.0], lengths=[3], completion_ids=torch.tensor([[5, 6, 2]]))
    policy = SimpleNamespace(stop_ids=(2,), decode=lambda ids: "-".join(map(str, ids)))
    assert text_of(batch, 0, policy) == "5-6"
