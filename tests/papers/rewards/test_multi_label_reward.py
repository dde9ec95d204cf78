from types import SimpleNamespace

import pytest
import torch
from harness_papers.rewards.multi_label_reward import MultiLabelReward

from harness import PolicyOutput, probe
from harness.errors import HarnessError
from tests.batches import make_batch

approx = pytest.approx
NAMES = ("correct", "format")


def started():
    plugin = MultiLabelReward()
    plugin.start(SimpleNamespace(task=SimpleNamespace(columns=NAMES)))
    return plugin


def test_the_reward_is_the_weighted_sum_of_predictions():
    fields = {"aspects": [[0.5, 1.0], [0.25, 0.0]], "reward_weights": [1.0, 0.2], "reward_names": NAMES}
    found = probe.rewards("multi-label-reward", [[1, 0], [0, 1]], [0, 0], **fields)
    assert found["predicted"] == approx([0.7, 0.25])
    assert "predicted" not in probe.rewards("multi-label-reward(warmup=1)", [1.0], [0])
    with pytest.raises(HarnessError, match="aspects"):
        probe.rewards("multi-label-reward", [1.0], [0])


def test_scaling_one_aspect_changes_the_advantage():
    rewards, group = [[0, 0], [0, 0], [0, 0]], [0] * 3
    plain = {"aspects": [[1.0, 0.0], [0.0, 1.0], [0.5, 0.2]], "shaped": True}
    scaled = {"aspects": [[10.0, 0.0], [0.0, 1.0], [5.0, 0.2]], "shaped": True}
    apart = probe.advantages("multi-label-reward", rewards, group, **plain)
    assert apart != approx(probe.advantages("multi-label-reward", rewards, group, **scaled), abs=0.1)


def test_the_regressor_learns_the_columns_that_apply():
    plugin, batch = started(), make_batch([[1.0, float("nan")], [0.0, 0.5]], reward_names=NAMES)
    batch = batch.with_extras(labels=plugin._columns(batch, batch.rewards))
    found = torch.full((2, 2), 0.5, dtype=torch.float64, requires_grad=True)
    output = PolicyOutput(logp=batch.logp_old, logp_old=batch.logp_old, mask=batch.mask, modules={"aspects": found})
    loss = plugin.regularize(batch, output)
    assert float(loss.detach()) == approx(0.5 / 3)
    loss.backward()
    assert found.grad.flatten().tolist() == approx([-1 / 3, 0, 1 / 3, 0])
