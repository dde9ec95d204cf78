import pytest

from harness import probe

FIELDS = {"logp": [[0.0, 0.0], [0.0, 0.0]], "entropy": [[1.0, 3.0], [2.0, 9.0]], "mask": [[1, 1], [1, 0]]}


def bonus(average="tokens", **fields):
    return probe.regularizer(f"entropy-bonus(coef=0.1, average={average!r})", **FIELDS | fields)[0]


def test_tokens_weigh_the_same_or_as_the_loss_weighs_them():
    assert bonus() == pytest.approx(-0.1 * 2)
    assert bonus("loss") == pytest.approx(-0.1 * (2 + 2) / 2)


def test_no_token_gives_0():
    assert bonus(mask=[[0, 0], [0, 0]]) == 0
    assert probe.regularizer("entropy-bonus(coef=0.0)", **FIELDS)[0] == 0
