from types import SimpleNamespace

import pytest
import torch
from harness_papers.group_relative.expert_iteration import ExpertIteration

from harness import PromptRecord, probe
from harness.errors import HarnessError
from tests.batches import make_batch
from tests.papers.worked import advantages, approx


class Learner:
    """Notes what happens to it."""

    def __init__(self):
        self.log = []

    def snapshot(self):
        return SimpleNamespace(tensors=(torch.zeros(1),))

    def restore(self, snapshot):
        self.log.append(("restore", len(snapshot.tensors)))

    def epoch(self, batch):
        self.log.append(("epoch", len(batch)))
        return {"loss": 0.5}


def answers(rewards, ids, keys="aaab"):
    records = tuple(PromptRecord(key=key, text="", task="t") for key in keys)
    batch = make_batch(rewards, [ord(key) for key in keys], lengths=[2] * 4, prompts=records)
    return batch.replace(completion_ids=torch.tensor(ids), advantages=batch.correct[:, None].double())


FIRST = answers([1.0, 1.0, 0.0, 1.0], [[1, 2], [1, 2], [5, 5], [1, 2]])
SECOND = answers([1.0, 1.0, 1.0, 0.0], [[1, 2], [3, 4], [6, 7], [8, 8]])


def run(**params):
    plugin, learner = ExpertIteration(**params), Learner()
    plugin.start()
    found = [plugin.update(learner, batch, SimpleNamespace(step=step)) for step, batch in enumerate((FIRST, SECOND))]
    return plugin, learner.log, found


def test_all_distinct_right_answers_so_far_from_the_first_weights():
    plugin, log, _ = run()
    assert log == [("restore", 1), ("epoch", 2), ("restore", 1), ("epoch", 4)]
    assert plugin.end_step() == {"accepted": 4.0}
    assert plugin.accepted[0].groups.count().tolist() == [3, 1, 3, 3]


def test_rounds_epochs_and_a_cap():
    _, log, found = run(period=2, epochs=2, restart=False, cap=2)
    assert log == [("epoch", 3), ("epoch", 3)]
    assert found == [{"tokens_trained": 0.0}, {"loss": 0.5}]


def test_nothing_right_trains_nothing():
    plugin, learner = ExpertIteration(), Learner()
    plugin.start()
    wrong = answers([0.0] * 4, [[1, 2]] * 4)
    assert plugin.update(learner, wrong, SimpleNamespace(step=0)) == {"tokens_trained": 0.0}
    assert learner.log == []
    with pytest.raises(HarnessError, match="positive"):
        ExpertIteration(epochs=0)


def test_the_loss_is_that_of_raft_over_accepted_tokens():
    fields = {"logp": [[-0.5, -1.0], [-0.25, -2.0]], "logp_old": [[0.0, 0.0]] * 2, "group": [0, 0]}
    given = {**fields, "mask": [[1, 1], [1, 0]], "rewards": [1.0, 0.0]}
    ours, raft = probe.loss("expert-iteration", **given), probe.loss("raft(only_accepted=True)", **given)
    assert ours[0] == approx(raft[0])
    assert ours[1] == approx(raft[1])
    assert advantages("expert-iteration", [1.0, 0.0]).tolist() == [1, 0]
