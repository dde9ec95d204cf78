from types import SimpleNamespace

import pytest
import torch
from harness_papers.rewards.scma import SCMA, effective_length

from harness import probe
from harness.policies.random import tiny_policy
from tests.batches import make_batch
from tests.papers.steps import begun, take

approx = pytest.approx


def test_unimportant_pieces_are_long():
    assert effective_length([10, 20, 30], [5, 3, 1]) == approx(40)
    assert effective_length([10, 20], [5, 5]) == 0
    assert effective_length([10, 20], [5]) == 30


def test_both_roles_share_the_reward():
    fields = {"role": [0, 0, 1, 1], "effective": [5.0, 10.0, 5.0, 10.0], "right": [True, False, True, False]}
    fields |= {"fits": [True, True, True, False], "lengths": [10, 10, 3, 3], "prompt": [0] * 4}
    found = probe.rewards("scma", [1.0, 0.0, 0.0, 0.0], [0] * 4, **fields)["compressed"]
    assert found == approx([0.9, -0.2, 0.9, -0.7])


def test_without_ratings_lengths_are_penalised():
    found = probe.rewards("scma", [1.0, 1.0], [0, 0], lengths=[4, 12])["compressed"]
    assert found == approx([0.9, 0.7])


def test_ratings_are_matched_to_their_answers():
    policy = tiny_policy(seed=0, width=16, intermediate=32, characters="0123456789+=#;")
    written = [policy.encode("1+1=2;#2"), policy.encode("#3######"), policy.encode("5 1#####")]
    batch = make_batch(
        [1.0, 0.0, 0.0, 0.0], [0] * 4, lengths=[8, 2, 2, 2], completion_ids=torch.tensor([*written, written[2]])
    ).with_extras(role=torch.tensor([0, 0, 1, 1]))
    plugin = SCMA()
    plugin.start()
    plugin.asked, plugin.said = {"t:0": [0, 1]}, {"t:0": [[5, 1], []]}
    found = plugin.augment(batch, SimpleNamespace(policy=policy)).extras
    assert found["effective"].tolist() == approx([2, 2, 2, 2])
    assert found["right"].tolist() == [True, False, True, False]
    assert found["fits"].tolist() == [True, True, True, False]


@pytest.mark.parametrize(
    ("text", "ratings"), [("5 3 1", [5, 3, 1]), ("531", [5, 3, 1]), ("7", []), ("5 x", []), ("", [])]
)
def test_what_counts_as_a_rating(text, ratings):
    plugin = SCMA()
    plugin.start()
    rollouts = SimpleNamespace(
        requests=[SimpleNamespace(key="a")], index=torch.tensor([0]), texts=(text,), truncated=torch.tensor([False]),
        mask=torch.ones(1, 1), extras={},
    )  # fmt: skip
    rollouts.replace = lambda extras: SimpleNamespace(**vars(rollouts) | {"extras": extras})
    wrapper = plugin.generate(SimpleNamespace(round=1))
    next(wrapper)
    with pytest.raises(StopIteration):
        wrapper.send(rollouts)
    assert plugin.said == {"a": [ratings]}


def test_it_trains():
    assert take(begun("scma"), 2)
