import math

import pytest

from harness.errors import HarnessError
from tests.papers.worked import surrogate

WIDE = ", clip_low=0.99, clip_high=99.0"


@pytest.mark.parametrize("kl", ["fkl", "rkl", "ufkl", "urkl"])
@pytest.mark.parametrize("ratio", [0.6, 1.0, 1.7])
def test_reinforce_without_a_clip_has_the_gradient_of_the_differentiable_form(kl, ratio):
    differentiable = surrogate(f"rpg(kl='{kl}', form='differentiable', beta=0.3)", ratio, 0.5)[1]
    reinforce = surrogate(f"rpg(kl='{kl}', beta=0.3{WIDE})", ratio, 0.5)[1]
    assert reinforce == pytest.approx(differentiable)


def test_values_at_ratio_1():
    pulls = {"fkl": -1, "rkl": 1, "ufkl": 0, "urkl": 0}
    for kl, pull in pulls.items():
        assert surrogate(f"rpg(kl='{kl}', beta=0.5)", 1.0, 0.0)[1] == pytest.approx(0.5 * pull)


@pytest.mark.parametrize(
    ("ratio", "advantage", "passes"),
    [(1.3, 1, False), (0.5, 1, True), (0.7, -1, False), (2.0, -1, True), (3.5, -1, False)],
)
def test_the_clip_form_lets_tokens_go_as_ppo_does(ratio, advantage, passes):
    assert bool(surrogate("rpg(form='clip')", ratio, advantage)[1]) is passes


def test_the_branch_may_look_at_the_whole_term():
    """With A = 0 the forward KL's pull is positive: above the bound the token leaves only if the term decides."""
    kept = {
        branch: bool(surrogate(f"rpg(kl='fkl', form='clip', branch='{branch}')", 1.5, 0.0, logp_old=[[-1.0]],
                               logp=[[-1.0 + math.log(1.5)]])[1])
        for branch in ("advantage", "term", "product")
    }  # fmt: skip
    assert kept == {"advantage": True, "term": False, "product": True}
    with pytest.raises(HarnessError, match="form"):
        surrogate("rpg(form='hard')", 1, 1)
