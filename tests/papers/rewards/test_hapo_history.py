import pytest
import torch
from harness_papers.rewards.hapo_history import HAPO

from harness import PromptRecord
from tests.batches import make_batch

approx = pytest.approx
LENGTHS = [0, 50, 100, 150, 200]


def shaped(plugin, correct, lengths, key="q"):
    batch = make_batch(
        [float(c) for c in correct], lengths=lengths, prompts=(PromptRecord(key, "", "t"),) * len(lengths)
    )
    wrapper = plugin.shape_rewards()
    next(wrapper)
    with pytest.raises(StopIteration) as stopped:
        wrapper.send(batch)
    return stopped.value.value.rewards[:, -1].tolist()


def started(**params):
    plugin = HAPO(**params)
    plugin.start()
    return plugin


def test_the_first_visit_sets_the_record_and_pays_nothing():
    plugin = started()
    assert shaped(plugin, [1, 0, 1], [150, 50, 100]) == [0, 0, 0]
    assert plugin.history == {"q": (100, 2)}
    assert shaped(plugin, [1] * 5, LENGTHS) == approx([1, 2**-0.5, 0, -0.7, -0.7])
    assert plugin.history["q"][0] == 0


def test_wrong_answers_are_never_paid_for_brevity():
    plugin = started()
    shaped(plugin, [1], [100])
    assert shaped(plugin, [0] * 5, LENGTHS) == approx([0, 0, 0, -(2**-0.5), -1], abs=1e-9)
    assert plugin.history["q"][0] == 100
    assert shaped(plugin, [1], [5], key="another") == [0]


def test_the_linear_form_and_the_mean_of_history():
    plugin = started(shape="linear", mode="mean")
    shaped(plugin, [1, 1], [50, 150])
    assert shaped(plugin, [1, 1, 1, 0, 0], [50, 105, 150, 100, 500]) == approx([0.5, 0, -0.4, 0, -1])
    assert plugin.history["q"][0] == approx((200 + 305) / 5)
    assert torch.tensor(shaped(started(), [0], [3])).tolist() == [0]
