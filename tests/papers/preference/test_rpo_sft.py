import pytest

from harness import probe
from tests.papers.worked import group_loss


def test_without_the_anchor_it_is_dpo():
    rewards, moved = [1, 0, 0.5], [0.3, -0.2, 0.1]
    ours, theirs = (group_loss(stack, rewards, moved) for stack in ("rpo-sft(eta=0.0)", "dpo"))
    assert ours[0] == theirs[0]
    assert ours[1] == pytest.approx(theirs[1])


def test_the_anchor_raises_the_chosen_one_only():
    rewards, moved = [1, 0], [0.3, -0.2]
    ours, theirs = (group_loss(stack, rewards, moved) for stack in ("rpo-sft(eta=0.1)", "dpo"))
    assert ours[0] - theirs[0] == pytest.approx(-0.03)
    assert ours[1] - theirs[1] == pytest.approx([-0.1, 0])


def test_the_sum_or_the_mean_of_its_tokens():
    rows = {"rewards": [1, 0], "group": [0, 0], "mask": [[1, 1], [1, 0]], "logp": [[-0.2, -0.4], [-0.1, 0.0]]}
    zeros = [[0.0, 0.0]] * 2
    found = [
        probe.loss(stack, logp_old=zeros, logp_ref=zeros, **rows)[0]
        for stack in ("dpo", "rpo-sft(eta=1.0)", "rpo-sft(eta=1.0, normalize=True)")
    ]
    assert found[1] - found[0] == pytest.approx(0.6)
    assert found[2] - found[0] == pytest.approx(0.3)
