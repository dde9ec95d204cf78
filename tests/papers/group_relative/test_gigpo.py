import numpy as np
import pytest
import torch
from harness_papers.group_relative.gigpo import GiGPO

from harness.errors import HarnessError
from tests.batches import make_batch
from tests.papers.worked import ONE_OF_FOUR, advantages, approx


def estimate(rewards, ids, lengths, **params):
    batch = make_batch(rewards, lengths=lengths).replace(completion_ids=torch.tensor(ids))
    return GiGPO(**params).estimate_advantages(batch).numpy()


def test_steps_from_the_same_state_are_compared():
    """The first tokens all start at the prompt, the second ones of the first two after the same token."""
    ids, lengths = [[1, 5], [1, 6], [2, 5]], [2, 2, 2]
    got = estimate([1.0, 0.0, 0.0], ids, lengths, gamma=1.0)
    whole = np.array([2 / 3, -1 / 3, -1 / 3])
    assert got[:, 0] == approx(2 * whole)
    assert got[:, 1] == approx(whole + np.array([0.5, -0.5, 0.0]))


def test_returns_are_discounted_by_steps_to_go():
    got = estimate([1.0, 1.0], [[1, 1, 1], [2, 0, 0]], [3, 1], gamma=0.5)
    assert got[:, 0].tolist() == approx([(0.25 - 1) / 2, (1 - 0.25) / 2])
    assert not got[0, 1:].any()
    longer = estimate([1.0, 1.0], [[1, 1, 1], [2, 0, 0]], [3, 1], gamma=0.5, step=2)
    assert longer[0].tolist() == approx([-0.25, -0.25, 0])


def test_without_weight_it_is_grpo():
    mask = np.ones((4, 2))
    got = advantages("gigpo(weight=0, scale=True)", ONE_OF_FOUR, mask=mask)
    assert got[:, 0] == approx(advantages("grpo", ONE_OF_FOUR))
    assert not advantages("gigpo(gamma=1)", [0.3] * 3, mask=np.ones((3, 2))).any()
    assert not advantages("gigpo", [0.3], mask=[[1, 1]]).any()
    assert advantages("gigpo(single='raw')", [0.3], mask=[[1, 1]]).tolist() == [[0.3, 0.3]]


def test_rows_that_are_steps_of_an_environment():
    fields = {"trajectory": [0, 0, 1], "anchor": [7, 8, 7], "step_rewards": [1.0, 0.5, 0.0]}
    got = advantages("gigpo", [1.0, 1.0, 0.0], **fields)
    # Trajectories return 1 and 0, each once; the state 7 was left with 1 and 0.
    assert got.tolist() == approx([0.5 + 0.5, 0.5, -0.5 - 0.5])
    with pytest.raises(HarnessError, match="at least one token"):
        GiGPO(step=0)
