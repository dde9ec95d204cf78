import math

import numpy as np
import pytest
import torch
from harness_papers.group_relative.copo_consistency import COPOConsistency

from harness import probe
from harness.errors import HarnessError
from tests.batches import make_batch
from tests.papers.worked import advantages, approx


@pytest.mark.parametrize(
    ("answers", "entropy", "weight"),
    [
        ([0] * 6, 0, 9.4e-14),
        ([0, 0, 1, 1, 2, 2], 1.0986, 3.3e-4),
        ([0, 0, 1, 1, 2, 3], 1.3297, 0.0321),
        ([0, 0, 1, 2, 3, 4], 1.5607, 0.7711),
        ([0, 1, 2, 3, 4, 5], 1.7918, 0.9971),
    ],
)
def test_entropy_and_weight(answers, entropy, weight):
    """The threshold of 1.5 nats, in bits."""
    plugin = COPOConsistency(threshold=1.5 / math.log(2), sharpness=20 * math.log(2))
    batch = make_batch([1.0, 0.0] * 3).with_extras(answers=torch.tensor(answers))
    batch = batch.replace(advantages=plugin.estimate_advantages(batch)[:, None])
    assert batch.extras["answer_entropy"] == approx([entropy / math.log(2)] * 6, abs=1e-3)
    assert plugin._weight(batch) == approx([weight] * 6, rel=0.02)


def blended(rewards, group, answers, **params):
    still = np.zeros((len(rewards), 1))
    fields = {"rewards": rewards, "group": group, "answers": answers, "logp": still, "logp_old": still}
    _, slope = probe.objective("copo-consistency", mask=still + 1, params=params or None, **fields)
    return -len(rewards) * slope[:, 0]


def test_unanimous_prompts_compete_with_one_another():
    got = blended([1.0, 1.0, 0.0, 0.0], [0, 0, 1, 1], [5, 5, 7, 7])
    assert got.tolist() == approx([0.7071, 0.7071, -0.7071, -0.7071], abs=1e-4)
    assert not blended([1.0, 1.0], [0, 0], [5, 5]).any()


def test_all_local_is_grpo():
    rewards = [1.0, 0.0, 0.0, 0.5]
    got = blended(rewards, [0] * 4, [1, 2, 2, 3], blend="local")
    assert got == approx(advantages("grpo", rewards))
    assert advantages("copo-consistency", rewards) == approx(advantages("grpo", rewards))


def test_what_is_forced_away_from_the_group():
    rewards, group = [1.0, 0.0, 1.0, 1.0], [0, 0, 1, 1]
    wrong = blended(rewards, group, [1, 2, 3, 3], blend="local", forced="wrong")
    assert wrong[0] == approx(0.7071, abs=1e-4)
    assert wrong[1] == approx(blended(rewards, group, [1, 2, 3, 3], blend="global")[1])
    with pytest.raises(HarnessError, match="blend"):
        blended(rewards, group, [1, 2, 3, 3], blend="half")
