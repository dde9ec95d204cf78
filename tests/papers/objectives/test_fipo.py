import math

import numpy as np
import pytest
import torch
from harness_papers.objectives.fipo import FIPO

from harness import probe

MOVED = torch.tensor([[0.1, -0.3, 0.05]], dtype=torch.float64)
ALL = torch.ones_like(MOVED)


def test_worked_example():
    plugin = FIPO(half_life=1.0)
    assert plugin.future(MOVED, ALL)[0].tolist() == pytest.approx([0.1 - 0.15 + 0.0125, -0.3 + 0.025, 0.05])
    weight = plugin.influence(MOVED, torch.ones(1, 1), ALL)[0].tolist()
    assert weight == pytest.approx([1, 1, math.exp(0.05)])
    both = FIPO(half_life=1.0, high_only=False).influence(MOVED, torch.ones(1, 1), ALL)[0].tolist()
    assert both == pytest.approx([math.exp(-0.0375), 0.8, math.exp(0.05)])


def test_distance_counts_masked_tokens_and_their_ratios_do_not():
    mask = torch.tensor([[1.0, 0.0, 1.0]], dtype=torch.float64)
    assert FIPO(half_life=1.0).future(MOVED, mask)[0].tolist() == pytest.approx([0.1 + 0.0125, 0, 0.05])


def test_wild_tokens():
    moved = torch.tensor([[2.0, 0.0]], dtype=torch.float64)
    bad = torch.tensor([[-1.0]], dtype=torch.float64)
    assert FIPO().influence(moved, bad, torch.ones_like(moved))[0, 0] == 1
    assert FIPO().influence(moved, -bad, torch.ones_like(moved))[0, 0] == pytest.approx(1.2)
    assert FIPO(ratio_limit=4.0).future(moved, torch.ones_like(moved))[0, 0] == 0


def test_on_policy_it_is_the_base():
    logp = np.array([[-0.2, -0.5]])
    fields = {"logp": logp, "logp_old": logp, "advantages": [0.7], "mask": [[1, 1]]}
    ours, theirs = (probe.token_loss(stack, **fields) for stack in ("fipo", "dapo"))
    assert ours[1] == pytest.approx(theirs[1])
