import numpy as np
import pytest

from harness import probe
from harness.errors import UsageError


def weights(stack, gaps, mask=None, **fields):
    """What a token loss of 1 becomes, for log ratios of learner to sampler."""
    gaps = np.asarray(gaps, float)
    mask = np.ones_like(gaps) if mask is None else mask
    ones = -np.ones_like(gaps)
    zeros = np.zeros_like(gaps)
    fields = {"logp": zeros, "logp_old": zeros, "logp_sampler": -gaps, "mask": mask, "advantages": ones, **fields}
    return probe.token_loss(stack, **fields)[0]


def test_long_completions_are_dropped_first():
    short, long = [[0.01] * 50], [[0.01] * 200]
    assert weights("mis", short)[0, 0] == pytest.approx(np.exp(0.5))
    assert not weights("mis", long).any()


def test_tokens_keep_the_weight_that_was_tested_or_their_own_or_none():
    gaps = [[0.3, -0.1]]
    assert weights("mis", gaps)[0] == pytest.approx(np.exp([0.2, 0.2]))
    assert weights("mis(weigh='token')", gaps)[0] == pytest.approx(np.exp([0.3, -0.1]))
    assert weights("mis(weigh='none')", gaps)[0] == pytest.approx([1, 1])
    assert weights("mis(level='token', high=1.2)", gaps)[0] == pytest.approx([0, np.exp(-0.1)])


def test_the_denominator_is_kept_unless_asked():
    gaps, fields = np.array([[0.0, 0.0], [2.0, 0.0]]), {"mask": [[1, 1], [1, 1]], "advantages": [-1.0, -1.0]}
    fields |= {"logp": np.zeros((2, 2)), "logp_old": np.zeros((2, 2)), "logp_sampler": -gaps}
    assert probe.objective("token-mean+mis", **fields)[0] == pytest.approx(0.5)
    assert probe.objective("token-mean+mis(denominator='kept')", **fields)[0] == pytest.approx(1)
    assert probe.train_on("mis(denominator='kept')", **fields).tolist() == [[True, True], [False, False]]
    assert probe.train_on("mis", **fields).all()


def test_everything_dropped_gives_loss_0():
    for stack in ("token-mean+mis(high=0.5)", "token-mean+mis(high=0.5, denominator='kept')"):
        fields = {"logp": [[0.0]], "logp_old": [[0.0]], "mask": [[1]], "advantages": [1.0]}
        loss, gradient = probe.objective(stack, **fields)
        assert loss == 0 == gradient.item()


def test_choices_are_checked():
    with pytest.raises(UsageError, match="denominator"):
        weights("mis(denominator='half')", [[0.0]])
