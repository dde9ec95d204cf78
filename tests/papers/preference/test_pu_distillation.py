import numpy as np
import pytest
import torch

from harness import probe
from harness.errors import HarnessError
from tests.papers.steps import before_update, begun


def ranking(scores, group):
    return probe.rewards("pu-distillation", [0.0] * len(scores), group, pu_score=scores)["pu_rank"]


def test_scores_are_ranked_within_the_group():
    assert ranking([0.3, -1.0, 0.1, 2.0, 2.0], [0, 0, 0, 1, 1]) == pytest.approx([1, 0, 0.5, 0.5, 0.5])
    assert np.isnan(ranking([np.nan, 0.1], [0, 1])[0]), "a prompt without an anchor teaches nothing"
    with pytest.raises(HarnessError, match="pu_score"):
        probe.rewards("pu-distillation", [1.0], [0])


def test_the_policy_judges_with_the_anchor_in_sight():
    trial = begun("pu-distillation")
    batch, policy = before_update(trial), trial.context.policy
    row = int((batch.lengths > 0).nonzero()[0])
    problem = trial.context.state.pool.problem(batch.prompts[row].key)
    shown = policy.encode_prompt(f"{problem.prompt}{problem.answer}\n{problem.prompt}")
    written = batch.completion_ids[row, : int(batch.lengths[row])].tolist()
    plain = batch.prompt_ids[row][batch.prompt_mask[row] > 0].tolist()
    after, before = (policy.score([context], [written]).mean() for context in (shown, plain))
    assert float(batch.extras["pu_score"][row]) == pytest.approx(float(after - before), abs=1e-6)
    assert torch.isfinite(batch.reward).all()
