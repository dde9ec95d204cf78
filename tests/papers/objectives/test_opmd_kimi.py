import pytest

from harness import probe

FIELDS = {"logp": [[0.3, -0.1], [0.2, 0.0]], "logp_old": [[0.0, 0.0]] * 2, "mask": [[1, 1], [1, 0]]}


def test_the_square_is_that_of_the_whole_completion():
    loss, gradient = probe.objective("opmd-kimi(tau=2.0)", **FIELDS, advantages=[1.0, -1.0])
    assert loss == pytest.approx((-0.2 + 0.04 + 0.2 + 0.04) / 2)
    assert gradient.tolist() == [pytest.approx([-0.3, -0.3]), pytest.approx([0.7, 0])]


def test_the_token_form_squares_each():
    loss, _ = probe.objective("opmd-kimi(tau=2.0, level='token')", **FIELDS, advantages=[1.0, -1.0])
    assert loss == pytest.approx((-0.2 + 0.09 + 0.01 + 0.2 + 0.04) / 2)


def test_the_advantage_is_centred_and_not_scaled():
    assert probe.advantages("opmd-kimi", [1, 0, 0, 0], [0] * 4).tolist() == [0.75, -0.25, -0.25, -0.25]
