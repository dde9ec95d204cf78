import pytest

from harness import probe
from harness.errors import HarnessError
from tests.papers.worked import group_loss

REWARDS = [1, 1, 0, 0, 0.5]
ADVANTAGES = probe.advantages("grpo(beta=0)", REWARDS, [0] * 5)


@pytest.mark.parametrize(("divergence", "factor"), [("kl", 1), ("js", 0.5), ("chi2", 1)])
def test_at_the_reference_the_gradient_is_the_policy_gradient(divergence, factor):
    _, slope = group_loss(f"f-div-grpo(divergence='{divergence}', beta=0.3)", REWARDS, [0.0] * 5)
    assert slope == pytest.approx(-0.3 * factor * ADVANTAGES / 5)


def test_js_saturates_where_classes_are_apart():
    near, far = (group_loss("f-div-grpo(beta=1.0)", [1, 0], [x, -x])[1] for x in (1.0, 5.0))
    assert abs(far).max() < abs(near).max() / 10


def test_the_hybrid_adds_the_best_and_the_worst():
    assert group_loss("f-hal(lam=1.0)", REWARDS, [0.2] * 5)[0] == pytest.approx(
        group_loss("f-div-grpo", REWARDS, [0.2] * 5)[0]
    )
    _, slope = group_loss("f-hal(lam=0.0, divergence='chi2', beta=1.0)", REWARDS, [0.0] * 5)
    assert slope == pytest.approx([-0.1, -0.1, 0.1, 0.1, 0])
    assert not group_loss("f-hal", [0.5, 0.5], [0.0] * 2)[1].any()
    with pytest.raises(HarnessError, match="divergence"):
        group_loss("f-hal(divergence='tv')", [1], [0.0])
