import numpy as np
import pytest

from harness import probe
from tests.papers.worked import group_loss


def drpo(lengths, correct, **params):
    mask = (np.arange(max(lengths)) < np.array(lengths)[:, None]).astype(float)
    logp = np.full(mask.shape, -1.0)
    _, slope = probe.loss(
        "drpo-length", logp=logp, logp_old=logp, rewards=correct, group=[0] * len(correct), mask=mask, params=params
    )
    return slope.sum(1)


def test_shorter_right_completions_weigh_more_and_none_is_negative():
    slope = drpo([10, 30, 20], [1, 1, 0], length=100)
    assert slope[:2] == pytest.approx([-0.8808, -0.1192], abs=1e-4)
    assert slope[2] == pytest.approx(1)


def test_without_a_taste_for_brevity_it_is_disco():
    correct, moved = [1, 1, 0, 0], [-1.0, -2.0, -0.5, -3.0]
    ours, theirs = (group_loss(m, correct, moved)[1] for m in ("drpo-length(lam=1e9, tau=1.0)", "disco(tau=1.0)"))
    assert ours == pytest.approx(theirs)


def test_prompts_of_one_kind_give_nothing():
    assert not drpo([2, 3], [1, 1]).any()
    assert not drpo([2, 3], [0, 0]).any()
