from types import SimpleNamespace

import pytest
import torch
from harness_papers.rewards.ttrv import TTRV

from harness import probe

approx = pytest.approx
VOTES = [7, 7, 7, 9]


def frequency(answers=VOTES, group=None, votes=None, **params):
    fields = {"answers": answers, "votes": [True] * len(answers) if votes is None else votes, "params": params}
    group = [0] * len(answers) if group is None else group
    return probe.rewards("ttrv", [0.0] * len(answers), group, **fields)["frequency"]


def test_the_share_of_the_votes_less_their_entropy():
    assert frequency() == approx([0.1415, 0.1415, 0.1415, -0.3585], abs=1e-4)
    assert frequency(normalize=False) == approx([0.75 - 0.75 * 0.5623] * 3 + [0.25 - 0.75 * 0.5623], abs=1e-4)
    assert frequency([1, 1], group=[0, 1]) == approx([1, 1])
    assert frequency([1, 2, 3, 4]) == approx([0.25 - 0.75] * 4)


def test_the_entropy_cancels_in_a_centred_advantage():
    fields = {"answers": VOTES, "votes": [True] * 4, "shaped": True}
    for weight in (0.0, 0.75):
        found = probe.advantages(f"ttrv(weight={weight})", [0.0] * 4, [0] * 4, **fields)
        assert found == approx([0.5, 0.5, 0.5, -1.5], abs=1e-3)


def test_silence_does_not_vote_and_cannot_win():
    assert frequency([5, 5, 5, 8], votes=[False] * 3 + [True]) == approx([0, 0, 0, 1])
    assert frequency([5, 5], votes=[False] * 2) == approx([0, 0])


def test_only_the_first_votes_train():
    fields = {"rollout": [3, 0, 1, 2], "lengths": [1] * 4, "mask": [[1]] * 4, "prompt": [0] * 4, "rewards": [0.0] * 4}
    assert probe.train_on("ttrv", **fields, group=[0] * 4)[:, 0].tolist() == [False, True, True, False]


def test_what_counts_as_a_vote():
    rollouts = SimpleNamespace(texts=("#5", "none", "#5"), truncated=torch.tensor([False, False, True]), extras={})
    rollouts.mask = torch.ones(3, 1)
    rollouts.replace = lambda extras: SimpleNamespace(**vars(rollouts) | {"extras": extras})
    wrapper = TTRV().generate()
    next(wrapper)
    with pytest.raises(StopIteration) as stopped:
        wrapper.send(rollouts)
    found = stopped.value.value.extras
    assert found["votes"].tolist() == [True, False, False]
    assert found["answers"][0] == found["answers"][2] != found["answers"][1]
