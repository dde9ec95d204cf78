"""The final answer of a completion, as what distinct answers are counted by."""

import math
from types import SimpleNamespace

import torch
from harness_papers.answers import answer_classes, answer_entropy, with_answers
from harness_papers.logps import mean_logp

from tests.batches import make_batch
from tests.papers.worked import approx


def rollouts(texts, **extras):
    made = SimpleNamespace(texts=texts, extras=extras, mask=torch.ones(len(texts), 1))
    made.replace = lambda extras: SimpleNamespace(**{**vars(made), "extras": extras})
    return made


def test_the_same_number_is_the_same_answer():
    found = with_answers(rollouts(["#### 12", "so it is 12", "#### 13", "no idea", " no idea "])).extras["answers"]
    a, b, c, d, e = found.tolist()
    assert a == b
    assert d == e
    assert len({a, c, d}) == 3
    known = rollouts(["1"], answers=torch.tensor([4]))
    assert with_answers(known) is known


def test_classes_stay_within_groups_and_entropy_counts_them():
    batch = make_batch([1.0] * 4, [0, 0, 1, 1]).with_extras(answers=torch.tensor([5, 5, 5, 6]))
    assert answer_classes(batch).count().tolist() == [2, 2, 1, 1]
    assert answer_entropy(batch).tolist() == approx([0, 0, math.log(2), math.log(2)])


def test_without_answers_the_tokens_are_compared_whatever_the_padding():
    ids = torch.tensor([[3, 4, 9], [3, 4, 8], [3, 4, 8]])
    batch = make_batch([1.0] * 3, lengths=[2, 2, 3], completion_ids=ids)
    assert answer_classes(batch).count().tolist() == [2, 2, 1]


def test_log_probabilities_are_those_of_the_step_start():
    batch = make_batch([1.0, 0.0], lengths=[2, 0])
    assert mean_logp(batch).tolist() == approx([float(batch.logp_old[0, :2].mean()), 0])
    assert mean_logp(batch.replace(logp_old=None))[0] == approx(float(batch.logp_sampler[0, :2].mean()))
