import math
from types import SimpleNamespace

import pytest
from harness_papers.rewards.metarubric import MetaRubric, project

from harness import probe
from tests.batches import make_batch

approx = pytest.approx
NAMES = ("correct", "format")


def rubric(rewards, **fields):
    return probe.rewards("metarubric", rewards, [0] * len(rewards), reward_names=NAMES, **fields)["rubric"]


def test_a_must_pays_only_with_its_evidence():
    assert rubric([[1, 1], [1, 0], [0, 1], [1, None]]) == approx([1, 0, 1 / 3, 1])


def test_a_contraindication_is_subtracted_and_the_reward_stays_within_0_and_1():
    assert rubric([[1, 1], [0, 1]], truncated=[True, False]) == approx([0, 1 / 3])


def started(**params):
    plugin = MetaRubric(**params)
    plugin.start()
    return plugin


def test_points_move_towards_labels_with_errors_and_keep_their_order():
    plugin = started()
    plugin.advance({"must": 0.8, "should": 0.2})
    assert plugin.tau == approx({"nice": 0, "must": 0.03, "should": -0.03, "contra": 0})
    plugin.advance({"must": 0.5, "should": 0.5})
    assert plugin.points("must") == approx(4 * math.exp(0.03))
    for _ in range(200):
        plugin.advance({"nice": 1.0, "should": 0.0})
    assert plugin.points("nice") <= plugin.points("should") + 1e-9
    assert max(map(abs, plugin.tau.values())) <= math.log(2) + 1e-9


def test_neighbours_cannot_cross():
    found = project({"nice": 5.0, "should": -5.0})
    assert math.exp(found["nice"]) <= 2 * math.exp(found["should"]) + 1e-9


def test_stages_end_every_so_many_steps():
    plugin = started(every=2)
    batch = make_batch([[0, 1], [0, 1]], reward_names=NAMES)
    for step in range(2):
        assert plugin.tau["must"] == 0
        plugin.end_step(SimpleNamespace(step=step, gathered=batch))
    assert plugin.errors == {}
    assert plugin.tau["must"] == approx(0.1 * (1 - 1 / 3))
