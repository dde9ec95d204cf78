import math
from types import SimpleNamespace

import pytest
from harness_papers.rewards.irpo_intergroup import IRPM

from harness import probe
from tests.batches import make_batch
from tests.papers.steps import begun, take

approx = pytest.approx
ROLE = [0, 0, 1, 1, 2, 2]
SAID = [math.nan, math.nan, 7.0, 9.0, 5.0, 8.0]


def judged(said=SAID, **params):
    fields = {"said": said, "role": ROLE, "prompt": [0] * 6, "params": params}
    return probe.rewards("irpo-intergroup", [1.0, 0.0, 0, 0, 0, 0], [0] * 6, **fields)["judged"]


def test_judgments_are_held_against_the_other_sides_mean():
    assert judged() == approx([1, 0, 1, 1, 1, -1])
    assert judged(strength=3) == approx([1, 0, -1, 1, 1, -1])


def test_the_first_version_worked_by_hand():
    assert judged(form="bradley-terry")[2:] == approx([0.5749, 0.8565, 0.9314, 0.5], abs=1e-4)


def test_what_is_no_score_counts_as_the_worst_and_costs():
    found = judged([math.nan, math.nan, math.nan, 9.0, math.nan, 2.0])
    # means 4.5 and 6: the first chosen one is 0, the first rejected one 10
    assert found[2:] == approx([-1.5, 1, -1.5, 1])
    assert IRPM.score_of("so #7") == 7
    assert all(math.isnan(IRPM.score_of(text)) for text in ("11", "no", "-1"))


def test_only_judgments_train_where_answers_are_left_out():
    fields = {"said": SAID, "role": ROLE, "prompt": [0] * 6, "rewards": [0.0] * 6, "mask": [[1]] * 6}
    assert probe.train_on("irpo-intergroup", **fields)[:, 0].all()
    found = probe.train_on("irpo-intergroup(answers=False)", **fields)[:, 0]
    assert found.tolist() == [False, False, True, True, True, True]


def test_a_right_and_a_wrong_answer_are_judged():
    batch = make_batch([1.0, 0.0, 0.0, 0.0], [0, 0, 1, 1])
    policy = SimpleNamespace(stop_ids=(), decode=lambda ids: str(len(ids)))
    state = SimpleNamespace(policy=policy, request=lambda key, n, text: (key, n, text))
    asked = IRPM().next_round(batch, 0, state)
    assert asked == [("t:0", 4, "0=1\nscore 0-10:"), ("t:0", 4, "0=2\nscore 0-10:")]
    assert IRPM().next_round(batch, 1, state) is None


def test_it_trains():
    assert take(begun("irpo-intergroup"), 2)
