from types import SimpleNamespace

import pytest
import torch
from harness_papers.modes import with_modes

from harness import probe

approx = pytest.approx
THINKS = [True, False, False, True]


def price(correct, thinks=THINKS, **fields):
    rewards = [[float(c), f] for c, f in zip(correct, fields.pop("form", [1.0] * len(correct)), strict=True)]
    fields |= {"correct": [bool(c) for c in correct], "reasons": thinks, "reward_names": ["correct", "format"]}
    return -probe.rewards("adacot", rewards, [0] * len(rewards), **fields)["reasoning"]


def test_reasoning_costs_where_direct_answers_are_right_and_its_absence_where_they_are_wrong():
    assert price([0, 1, 1, 0]) == approx([0.1, 0, 0, 0.1])
    assert price([1, 0, 0, 1]) == approx([0, 0.3, 0.3, 0])
    assert price([1, 0, 1, 1]) == approx([0.1, 0, 0, 0.1])


def test_without_a_direct_answer_nothing_is_known_and_form_has_a_price_of_its_own():
    assert price([1, 0, 1, 1], [True] * 4) == approx([0] * 4)
    assert price([1, 0, 1, 1], [True] * 4, form=[0.0, 1.0, 0.0, 1.0]) == approx([0.1, 0, 0.1, 0])


@pytest.mark.parametrize(
    ("mask", "correct", "masked"),
    [("one-sided", [1, 1, 1, 1], True), ("one-sided", [1, 1, 0, 0], False), ("always", [1, 1, 0, 0], True),
     ("never", [1, 1, 1, 1], False)],
)  # fmt: skip
def test_the_decision_has_no_loss_in_one_sided_steps(mask, correct, masked):
    fields = {"reasons": [False] * 4, "correct": [bool(c) for c in correct], "rewards": [0.0] * 4}
    found = probe.train_on(f"adacot(mask={mask!r})", **fields, group=[0, 0, 1, 1], mask=[[1, 1]] * 4)
    assert found.tolist() == [[not masked, True]] * 4


def test_the_first_character_tells_the_mode():
    rollouts = SimpleNamespace(texts=("#5", " #5", "1+4=5;#5", ""), extras={}, mask=torch.ones(4, 1))
    rollouts.replace = lambda extras: SimpleNamespace(extras=extras)
    assert with_modes(rollouts, "#").extras["reasons"].tolist() == [False, False, True, True]
