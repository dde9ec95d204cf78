import numpy as np
import pytest
from harness_papers.group_relative.dapo import DAPO

from harness import probe
from tests.batches import make_batch
from tests.papers.worked import ONE_OF_FOUR, advantages, approx


def test_the_advantage_is_that_of_grpo():
    assert advantages("dapo", ONE_OF_FOUR).tolist() == approx([1.5, -0.5, -0.5, -0.5], abs=1e-5)


def test_the_clip_is_higher_above():
    fields = {"logp": np.log([[1.25, 1.5]]), "logp_old": np.zeros((1, 2)), "advantages": [1.0], "mask": [[1, 1]]}
    loss, gradient = probe.token_loss("dapo", **fields)
    assert loss[0].tolist() == approx([-1.25, -1.28])
    assert gradient[0].tolist() == approx([-1.25, 0.0])


@pytest.mark.parametrize(("length", "penalty"), [(10, 0), (80, 0), (90, -0.5), (100, -1), (101, -1)])
def test_soft_overlong_punishment(length, penalty):
    columns = probe.rewards("dapo", [1.0], [0], lengths=[length], max_tokens=100)
    assert columns["overlong"].tolist() == approx([penalty])


def test_no_buffer_no_punishment():
    assert list(probe.rewards("dapo(overlong=0)", [1.0], [0], lengths=[100], max_tokens=100)) == ["0"]


def test_only_mixed_groups_and_single_answers_stay():
    batch = make_batch([1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0], [0, 0, 1, 1, 2, 2, 3])
    assert DAPO().keep(batch).tolist() == [True, True, False, False, False, False, True]
    assert DAPO(dynamic=False).keep(batch).all()


def test_with_its_parts_off_it_is_grpo_with_a_token_mean():
    mask = [[1, 1, 0, 0], [1, 1, 1, 1]]
    assert probe.weights("dapo", mask).sum(1).tolist() == approx([1 / 3, 2 / 3])
    fields = {"logp": np.log([[1.25, 0.7]]), "logp_old": np.zeros((1, 2)), "advantages": [-1.0], "mask": [[1, 1]]}
    ours = probe.token_loss("dapo(clip_high=0.2, overlong=0, dynamic=False)", **fields)
    assert ours[1] == approx(probe.token_loss("grpo(beta=0)", **fields)[1])
