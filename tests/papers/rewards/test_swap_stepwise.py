import pytest
import torch
from harness_papers.rewards.swap_stepwise import SWAP

from harness import probe
from harness.errors import HarnessError
from tests.batches import make_batch

approx = pytest.approx
STEP = [[0, 1, 2, 2]]
BEFORE, AFTER = [[-3.0, -1.0, -0.9, -0.9]], [[-1.0, -0.9, -0.9, -0.9]]


def shares(tau=1.0, after=AFTER, step=STEP):
    batch = make_batch([1.0], lengths=[4])
    tensors = {"step": torch.tensor(step), "value_before": torch.tensor(BEFORE), "value_after": torch.tensor(after)}
    return SWAP(tau=tau).shares(batch.with_extras(**tensors))[0].tolist()


def test_steps_that_help_little_bear_most():
    assert shares() == approx([0.066, 0.444, 0.490, 0.490], abs=1e-3)
    assert sum(shares(tau=0.1)[:3]) == approx(1)
    assert shares(tau=1e6) == approx([1 / 3] * 4, abs=1e-4)
    assert shares(step=[[0, 0, 0, 0]], after=BEFORE) == approx([1] * 4)
    assert shares(after=[[float("nan")] * 4]) == [0] * 4


def test_only_right_answers_pay_for_their_excess():
    fields = {"lengths": [1, 3, 4], "mask": [[1, 0, 0, 0], [1, 1, 1, 0], [1] * 4], "correct": [True, True, False]}
    fields |= {"step": [[0] * 4] * 3, "value_before": [[-1.0] * 4] * 3, "value_after": [[-1.0] * 4] * 3}
    base = probe.advantages("grpo(beta=0)", [1.0, 1.0, 0.0], [0] * 3)
    found = probe.advantages("swap", [1.0, 1.0, 0.0], [0] * 3, **fields)
    assert found[:, 0] == approx(base - [0, 0.25, 0])
    with pytest.raises(HarnessError, match="swap needs"):
        probe.advantages("swap", [1.0, 0.0], [0, 0])
