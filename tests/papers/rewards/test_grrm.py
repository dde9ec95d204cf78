import math

import pytest
import torch
from harness_papers.rewards.grrm import GRRM

from harness import PolicyOutput, probe
from harness.errors import HarnessError
from tests.batches import make_batch

approx = pytest.approx


def test_scores_are_whole_and_relative_to_the_group():
    fields = {"judged": [10.0, 10.0, 9.0, 3.0], "group": [0, 0, 0, 1]}
    found = probe.rewards("grrm", [0.0] * 4, **fields)["group_score"]
    assert found == approx([0.06, 0.06, 0.03, 0.05])
    moved = probe.rewards("grrm", [0.0] * 4, **fields | {"judged": [20.0, 20.0, 19.0, 3.0]})["group_score"]
    assert moved == approx(found)
    with pytest.raises(HarnessError, match="judged"):
        probe.rewards("grrm", [1.0], [0])


def test_the_judge_learns_the_order_within_groups():
    batch = make_batch([1.0, 0.5, 0.5, 0.0], [0, 0, 0, 1])
    batch = batch.with_extras(judged_truth=batch.reward)
    raw = torch.zeros(4, 1, dtype=torch.float64, requires_grad=True)
    output = PolicyOutput(logp=batch.logp_old, logp_old=batch.logp_old, mask=batch.mask, modules={"judge": raw})
    loss = GRRM().regularize(batch, output)
    assert float(loss.detach()) == approx(math.log(2))
    loss.backward()
    assert raw.grad[:, 0].tolist() == approx([-0.5, 0.25, 0.25, 0])
