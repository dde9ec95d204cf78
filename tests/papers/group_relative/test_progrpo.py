from types import SimpleNamespace

import numpy as np
import pytest
import torch
from harness_papers.group_relative.progrpo import ProGRPO

from harness.errors import HarnessError
from tests.batches import make_batch
from tests.papers.worked import advantages, approx

MASK = [[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]]
LOGP = np.log([[0.9, 0.3, 0.8, 1.0, 1.0], [0.9, 0.95, 0.01, 1.0, 1.0]])


def corrected(rewards, **params):
    fields = {"mask": MASK, "logp_old": LOGP, "prompt_confidence": [0.5, 0.5]}
    return advantages("progrpo", rewards, params={"alpha": 1.0, **params}, **fields)


def test_the_least_likely_fifth_is_the_confidence():
    got = corrected([1.0, 1.0])
    assert got.tolist() == approx([0.5 - 0.3, 0.5 - 0.9])
    assert got[0] - got[1] == approx(0.6)
    assert corrected([1.0, 1.0], share=1.0)[1] == approx(0.5 - (0.9 * 0.95) ** 0.5)


def test_groups_without_success_stay():
    assert corrected([0.0, 0.0]).tolist() == [0, 0]
    assert corrected([1.0, 0.0], alpha=0.0) == approx(advantages("grpo", [1.0, 0.0]))
    with pytest.raises(HarnessError, match="prompt_confidence"):
        advantages("progrpo", [1.0, 0.0])


def test_the_prompt_is_scored_once_for_all_its_completions():
    batch = make_batch([1.0, 0.0, 1.0], [0, 0, 1], prompt_ids=torch.tensor([[0, 5], [0, 5], [7, 8]]))
    batch = batch.replace(prompt_mask=torch.tensor([[0, 1], [0, 1], [1, 1]]))
    asked = []

    def score(prompts, completions):
        asked.append((prompts, completions))
        return torch.tensor([[9.0], [-1.0]])

    found = ProGRPO().annotate(batch, SimpleNamespace(score=score))["prompt_confidence"]
    assert asked == [([[5], [7]], [[], [8]])]
    assert found.tolist() == approx([1, 1, np.exp(-1)])


def test_the_confidence_in_a_prompt_is_one_over_its_perplexity():
    batch = make_batch([1.0, 0.0], prompt_ids=torch.tensor([[4, 5, 6]] * 2))
    batch = batch.replace(prompt_mask=torch.ones(2, 3))
    policy = SimpleNamespace(score=lambda prompts, completions: torch.tensor([[-1.0, -3.0]]))
    assert ProGRPO().annotate(batch, policy)["prompt_confidence"].tolist() == approx([np.exp(-2)] * 2)
    low = ProGRPO(prompt_share=0.5).annotate(batch, policy)["prompt_confidence"]
    assert low.tolist() == approx([np.exp(-3)] * 2)
    with pytest.raises(HarnessError, match="prompt_share=0"):
        ProGRPO(prompt_share=0)
