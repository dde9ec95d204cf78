import math

import numpy as np
import pytest

from harness import probe

RATIO = 1.5
FIELDS = {
    "logp": np.full((4, 1), math.log(RATIO)), "logp_old": np.zeros((4, 1)), "mask": np.ones((4, 1)),
    "advantages": [2.0, 1.0, 1.0, 1.0], "rewards": [1.0, 0.0, 1.0, 1.0], "group": [0, 0, 1, 1],
}  # fmt: skip


def test_large_advantages_and_mixed_groups_may_move_further():
    loss, _ = probe.token_loss("etr-elastic", **FIELDS)
    micro, macro = np.array([1.5, 1.25, 1.25, 1.25]), np.array([1.5, 1.5, 1.0, 1.0])
    bounds = np.minimum(1 + 0.2 * micro * macro, RATIO)
    assert loss[:, 0] == pytest.approx(-bounds * FIELDS["advantages"])


def test_without_both_it_is_grpo():
    ours = probe.token_loss("etr-elastic(micro=0.0, macro=0.0)", **FIELDS)
    assert ours[0] == pytest.approx(probe.token_loss("grpo(beta=0)", **FIELDS)[0])
