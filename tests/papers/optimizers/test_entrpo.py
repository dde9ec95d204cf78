from types import SimpleNamespace

import numpy as np
import pytest
import torch

from harness import probe
from harness.host import build_stack
from tests.batches import make_batch
from tests.papers.steps import before_update, begun, take


def test_the_entropy_ahead_is_added():
    fields = {"entropy": [[1.0, 2.0, 4.0], [3.0, 0.0, 9.0]], "mask": [[1, 1, 1], [1, 1, 0]]}
    found = probe.advantages("entrpo(weight=0.5, gamma=0.5)", [1, 0], [0, 0], **fields)
    plain = probe.advantages("trpo", [1, 0], [0, 0], **fields)
    ahead = np.array([[3.0, 4.0, 4.0], [3.0, 0.0, 0.0]])
    assert found == pytest.approx((plain[:, None] + 0.5 * ahead) * np.array(fields["mask"]))


def test_the_last_steps_are_trained_on_again():
    trial = begun("entrpo(memory=1)")
    first = before_update(trial, 0)
    second = before_update(trial, 1)
    assert len(second) == len(first) * 2
    assert second.groups.number == 8
    assert second.age.tolist() == [0] * len(first) + [1] * len(first)
    assert len(before_update(trial, 2)) == len(first) * 2, "only the last one"


def test_without_both_it_is_trpo():
    ours, theirs = (take(begun(stack)) for stack in ("entrpo(weight=0.0, memory=0)", "trpo"))
    assert ours[0]["method/trpo_kl"] == theirs[0]["method/trpo_kl"]


def test_remembered_groups_meet_no_others_whatever_their_keys():
    hooks = build_stack("entrpo(memory=2)").caller(SimpleNamespace(hook="start", step=0))
    hooks.start(run=None)
    batch = make_batch([1.0, 0.0, 1.0, 0.0], [0, 0, 1, 1])
    batch = batch.replace(group_keys=torch.tensor([0, 0, 2, 2]))
    assert [hooks.augment(batch=batch).groups.number for _ in range(3)] == [2, 4, 6]
