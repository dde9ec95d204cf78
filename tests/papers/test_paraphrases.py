from types import SimpleNamespace

import pytest
import torch
from harness_papers.paraphrases import split_request, with_wordings, wordings

from harness.policies.rollouts import Request
from harness.tasks.code import CodeTask
from harness.tasks.math import MathTask


def test_terms_change_places_and_the_answer_stays():
    for problem in MathTask().problems("train", 20):
        found = wordings(problem, 4)
        assert found[0] == problem.prompt
        assert len(set(found)) == len(found)
        assert all(eval(text[:-1]) == problem.answer for text in found)


def test_examples_change_places_and_other_prompts_get_a_lead_in():
    (problem,) = CodeTask().problems("train", 1)
    found = wordings(problem, 3)
    assert len(found) == 3
    assert {tuple(sorted(text[:-1].split(","))) for text in found} == {tuple(sorted(problem.prompt[:-1].split(",")))}
    story = SimpleNamespace(prompt="How many?", data={})
    assert wordings(story, 2) == ["How many?", "Question: How many?"]


@pytest.mark.parametrize(("n", "count", "shares"), [(8, 2, [4, 4]), (5, 3, [2, 2, 1]), (1, 3, [1]), (0, 2, [0])])
def test_a_request_is_shared_out(n, count, shares):
    pool = SimpleNamespace(problem=lambda _: SimpleNamespace(prompt="How many?", data={}))
    state = SimpleNamespace(pool=pool, request=lambda key, text: Request(key, tuple(map(ord, text)), 1))
    assert [part.n for part in split_request(Request("k", (1,), n), state, count)] == shares


def test_completions_know_their_wording():
    requests = (Request("a", (1,), 1), Request("a", (2,), 1), Request("b", (3,), 1), Request("a", (1,), 1))
    rollouts = SimpleNamespace(requests=requests, index=torch.tensor([0, 1, 1, 2, 3]), mask=torch.ones(5, 1), extras={})
    rollouts.replace = lambda extras: extras["wording"].tolist()
    assert with_wordings(rollouts) == [0, 1, 1, 0, 0]
