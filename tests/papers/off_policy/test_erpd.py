import pytest
import torch
from harness_papers.off_policy.erpd import ERPD

from tests.batches import make_batch
from tests.papers.steps import begun, take


def test_the_signal_is_what_agrees_with_the_advantage_within_the_band():
    batch = make_batch([1.0, 0.0], lengths=[3, 2]).replace(advantages=torch.tensor([[1.0], [-1.0]]).double())
    gap = torch.tensor([[0.5, -0.5, 9.0], [-0.2, 0.3, 7.0]], dtype=torch.float64)
    found = ERPD().signal(batch, batch.logp_old + gap)
    assert found.tolist() == [pytest.approx([0.5, 0, 0]), pytest.approx([-0.2, 0, 0])]


def test_a_teacher_equal_to_the_start_changes_nothing():
    trial = begun("erpd(passes=0)")
    before = [p.detach().clone() for p in trial.context.learner.parameters]
    assert take(trial)[0]["method/erpd_kept"] == 0
    for parameter, old in zip(trial.context.learner.parameters, before, strict=True):
        torch.testing.assert_close(parameter.detach(), old, rtol=1e-9, atol=1e-9)


def test_both_stages_are_charged_and_only_the_second_stays():
    trial = begun("erpd(passes=2)")
    metrics = take(trial)[0]
    assert metrics["updates"] == 6, "two passes and the careful one, two minibatches each"
    assert 0 < metrics["method/erpd_kept"] <= 1
    assert trial.context.ledger.categories["policy"] > 0
