import math
from fractions import Fraction
from types import SimpleNamespace

import pytest
import torch
from harness_papers.rewards.omniquality_r import OmniQualityR

from harness import probe
from tests.batches import make_batch

approx = pytest.approx


def plugin(answers, **params):
    found = OmniQualityR(**params)
    problems = {str(i): SimpleNamespace(answer=answer) for i, answer in enumerate(answers)}
    found.start(SimpleNamespace(pool=SimpleNamespace(keys=tuple(problems), problem=problems.__getitem__)))
    return found


def test_the_error_in_units_of_the_answers_range():
    graded = plugin([0, 100, "abc"]).graded
    assert [graded(50, Fraction(y)) for y in (50, 60, 40, 80)] == approx([1, 0.6065, 0.6065, 0.0111], abs=1e-4)
    assert graded(50, None) == 0
    assert plugin(["x", 5]).range == 1


def test_graded_answers_take_the_place_of_the_columns_where_there_are_any():
    found = probe.rewards("omniquality-r", [[1, 0.6], [0.5, None]], [0, 0], reward_names=["correct", "graded"])
    assert found["gaussian"] == approx([0.6, 0.5])


def test_groups_without_spread_leave():
    batch = make_batch([0.5, 0.5, 0.1, 0.9, 0.3], [0, 0, 1, 1, 2])
    assert plugin([1, 2]).keep(batch).tolist() == [False, False, True, True, True]
    assert plugin([1, 2], spread=0.0).keep(batch).all()


def test_only_uncertain_tokens_train():
    fields = {"logp": [[-1.0] * 4], "logp_old": [[-1.0] * 4], "advantages": [1.0], "mask": [[1, 1, 1, 1]]}
    fields["entropy"] = [[0.1, 0.9, 0.2, 0.8]]
    assert probe.token_loss("omniquality-r", **fields)[1][0].tolist() == [0, -1, 0, -1]
    assert probe.token_loss("omniquality-r(share=1)", **fields)[1][0].tolist() == [-1] * 4


def test_cut_off_texts_and_other_tasks():
    rollouts = SimpleNamespace(
        requests=[SimpleNamespace(key="n"), SimpleNamespace(key="t")], index=torch.tensor([0, 0, 1]),
        texts=("#2", "#2", "?"), truncated=torch.tensor([False, True, False]), logp=torch.zeros(3, 1),
    )  # fmt: skip
    task = SimpleNamespace(problem=lambda key: SimpleNamespace(answer=2 if key == "n" else ["a"]))
    found = plugin([0, 10]).score(rollouts, task)["graded"].tolist()
    assert found[:2] == [1, 0]
    assert math.isnan(found[2])
