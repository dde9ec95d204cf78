from types import SimpleNamespace

import numpy as np
import pytest
import torch
from harness_papers.rewards.hapo_history import HAPO

from harness import PromptRecord, probe
from tests.batches import make_batch

approx = pytest.approx
LENGTHS = [0, 50, 100, 150, 200]


def bonus(correct, lengths, record=100.0, **params):
    fields = {"lengths": lengths, "record": [record] * len(lengths)}
    return probe.rewards("hapo-history", [float(c) for c in correct], None, params=params, **fields)["history"]


def test_beating_the_record_pays_and_exceeding_it_costs():
    assert bonus([1] * 5, LENGTHS) == approx([1, 2**-0.5, 0, -0.7, -0.7])
    assert bonus([0] * 5, LENGTHS) == approx([0, 0, 0, -(2**-0.5), -1], abs=1e-9)
    assert bonus([1, 0], [50, 500], np.nan).tolist() == [0, 0]


def test_every_right_answer_stays_above_every_wrong_one():
    assert (1 + bonus([1] * 5, LENGTHS)).min() > bonus([0] * 5, LENGTHS).max()


def test_the_linear_form():
    assert bonus([1, 1, 1, 0, 0], [50, 105, 150, 100, 500], shape="linear") == approx([0.5, 0, -0.4, 0, -1])


@pytest.mark.parametrize(("mode", "first", "then"), [("min", 100, 100), ("mean", 125, 180)])
def test_the_history_is_of_correct_completions(mode, first, then):
    plugin = HAPO(mode=mode)
    plugin.start()
    for expected, lengths in ((first, [150, 50, 100]), (then, [200, 10, 270])):
        prompts = (PromptRecord("q", "", "t"),) * 3
        plugin.end_step(SimpleNamespace(gathered=make_batch([1.0, 0.0, 1.0], [0] * 3, lengths, prompts=prompts)))
        assert plugin.history["q"][0] == approx(expected)
    asked = SimpleNamespace(
        requests=(SimpleNamespace(key="q"), SimpleNamespace(key="new")), index=torch.tensor([0, 1, 1]),
        logp=torch.zeros(3, 1), extras={}, replace=lambda extras: extras["record"].tolist(),
    )  # fmt: skip
    wrapper = plugin.generate()
    next(wrapper)
    with pytest.raises(StopIteration) as stopped:
        wrapper.send(asked)
    assert stopped.value.value == approx([then, np.nan, np.nan], nan_ok=True)
