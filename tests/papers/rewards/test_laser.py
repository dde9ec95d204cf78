from types import SimpleNamespace

import pytest
import torch
from harness_papers.rewards.laser import LASER

from harness import probe
from tests.batches import make_batch

approx = pytest.approx


def laser(correct, lengths, group=None, **fields):
    params = fields.pop("params", {})
    return probe.rewards("laser", correct, group, params=params, lengths=lengths, max_tokens=10, **fields)["laser"]


def test_a_bonus_for_right_and_short():
    found = laser([1, 1, 0, 0], [5, 6, 5, 10], truncated=[False, False, False, True])
    assert found == approx([1.5, 1, -0.5, -1])


def test_exploring_pays_for_long_wrong_answers_that_do_not_repeat():
    ids = [[1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 1, 2, 3]]
    params = {"explore": True, "ngram": 2}
    assert laser([0, 0], [7, 7], params=params, completion_ids=ids) == approx([0, -0.5])


def test_targets_follow_difficulty():
    """Easy: a fifth must fit, medium: half, hard: all, on a grid of an eighth."""
    plugin = LASER(difficulty=True, refresh=1)
    plugin.start()
    assert [plugin._covering([0.1, 0.2, 0.3, 0.4, 0.5], level) for level in (1, 2, 5)] == [0.5, 0.375, 0.125]
    batch = make_batch([1.0, 1.0, 0.0, 0.0, 0.0], [0, 0, 1, 1, 1], [1, 5, 2, 2, 2], tokens=8)
    metrics = plugin.end_step(
        batch.replace(correct=torch.tensor([True, True, True, False, False])), SimpleNamespace(step=0)
    )
    assert metrics == {"target_hard": 0.5, "target_medium": 0.25, "target_easy": 0.125}
    assert plugin.end_step(batch, SimpleNamespace(step=5))["target_medium"] == 0.25
