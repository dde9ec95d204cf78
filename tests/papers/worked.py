"""Short names for worked examples."""

from __future__ import annotations

import math
from typing import Any

import pytest

from harness import probe

approx = pytest.approx
ONE_OF_FOUR = (1.0, 0.0, 0.0, 0.0)


def advantages(method: str, rewards: Any, group: Any = None, **fields: Any) -> Any:
    """What a stack makes of rewards, in one group unless `group` says otherwise."""
    return probe.advantages(method, rewards, [0] * len(rewards) if group is None else group, **fields)


def surrogate(method: str, ratio: float, advantage: float, **fields: Any) -> tuple[float, float]:
    """(loss, gradient with respect to logp) of one token at a ratio to the old policy."""
    known = {"logp": [[math.log(ratio)]], "logp_old": [[0.0]], "advantages": [advantage], "mask": [[1]]}
    loss, gradient = probe.token_loss(method, **(known | fields))
    return loss.item(), gradient.item()


def group_loss(method: str, rewards: Any, moved: Any, group: Any = None, **fields: Any) -> tuple[float, Any]:
    """(loss, gradient [N] with respect to the log-ratio) of completions of one token that moved from 0 by `moved`."""
    zeros = [[0.0]] * len(rewards)
    known = {"logp": [[x] for x in moved], "logp_old": zeros, "logp_ref": zeros, "logp_sampler": zeros}
    known |= {"rewards": rewards, "group": [0] * len(rewards) if group is None else group, "mask": [[1]] * len(rewards)}
    loss, gradient = probe.loss(method, **(known | fields))
    return loss, gradient[:, 0]
