import math

import pytest
import torch
from harness_papers.preference.power_dl import PowerDL

from harness import probe
from tests.batches import make_batch
from tests.papers.worked import group_loss


def test_equal_lengths_are_simpo_without_a_margin():
    ours = group_loss("power-dl(eta=0.0)", [1, 0], [-0.4, -0.2])
    theirs = group_loss("simpo(gamma=0.0)", [1, 0], [-0.4, -0.2])
    assert ours[0] == pytest.approx(theirs[0])
    assert ours[1] == pytest.approx(theirs[1])


def test_lengths_and_the_anchor():
    rows = {"rewards": [1, 0], "group": [0, 0], "mask": [[1, 1], [1, 0]], "logp": [[-0.2, -0.4], [-0.1, 0.0]]}
    loss, _ = probe.loss("power-dl(beta=2.0, eta=0.5)", logp_old=[[0.0, 0.0]] * 2, **rows)
    margin = 2 * ((-0.3 + 0.5) - (-0.1 + 1))
    assert loss == pytest.approx(math.log1p(math.exp(-margin)) + 0.5 * 2 * 0.3)


def test_labels_drift_to_what_the_policy_thinks():
    plugin = PowerDL(gamma=0.25)
    plugin.start()
    batch = make_batch([1.0, 0.0, 1.0, 1.0], [0, 0, 1, 1], [2, 2, 2, 2])
    assert plugin.annotate(batch)["power_label"].tolist() == [1] * 4
    plugin.end_step(batch)
    likely = batch.sequence_mean(batch.logp_old)
    expected = 0.75 + 0.25 * float(torch.sigmoid(2 * (likely[0] - likely[1])))
    assert plugin.annotate(batch)["power_label"].tolist() == pytest.approx([expected, expected, 1, 1])


def test_a_soft_label_flattens():
    fields = {"power_label": [0.5, 0.5]}
    assert group_loss("power-dl(eta=0.0)", [1, 0], [0, 0], **fields)[1] == pytest.approx([0, 0])
