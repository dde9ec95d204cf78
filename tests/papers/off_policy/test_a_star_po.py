import pytest
import torch
from harness_papers.off_policy.a_star_po import AStarPO

from harness import Groups, probe
from tests.papers.steps import before_update, begun
from tests.papers.worked import group_loss


def test_the_value_of_one_success_in_eight():
    rewards = torch.tensor([1.0] + [0.0] * 7)
    groups = Groups(torch.zeros(8, dtype=torch.long))
    assert AStarPO().value(groups, rewards).item() == pytest.approx(0.293513, abs=1e-5)
    assert AStarPO(beta_value=0).value(groups, rewards).item() == pytest.approx(1 / 8)


def test_the_residual():
    loss, slope = group_loss("a-star-po(beta=0.5, beta_value=0)", [1.0, 0.0], [1.0, 0.0])
    assert loss == pytest.approx((0.0 + 0.25) / 2)
    assert slope == pytest.approx([0, 0.25])


def test_values_are_sampled_once_charged_and_looked_up_by_prompt():
    trial = begun("a-star-po(prompts=6, ahead=3)")
    plugin = dict(trial.stack.plugins)["a-star-po"]
    assert trial.context.ledger.counts["rollouts_requested"] == 18
    assert len(plugin.values) == 6
    batch = before_update(trial)
    assert len(batch) == 6, "one completion of every prompt that has a value"
    expected = [reward - plugin.values[record.key] for reward, record in zip(batch.reward, batch.prompts, strict=True)]
    assert batch.advantages[:, 0].tolist() == pytest.approx([float(x) for x in expected])


def test_a_prompt_without_a_value_goes_by_its_group():
    assert probe.advantages("a-star-po(beta_value=0)", [1, 0, 0.5], [0, 0, 1]) == pytest.approx([0.5, -0.5, 0])
