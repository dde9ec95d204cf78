from types import SimpleNamespace

import pytest
from harness_papers.group_relative.gpg import GPG

from harness import probe
from harness.errors import HarnessError
from tests.batches import make_batch
from tests.papers.worked import advantages, approx

REWARDS, GROUP = [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0], [0, 0, 1, 1, 2, 2, 3, 3]


def test_two_of_four_groups_have_no_gradient():
    assert advantages("gpg", REWARDS, GROUP).tolist() == [1, -1, 0, 0, 0, 0, -1, 1]
    assert advantages("gpg(alpha='none')", REWARDS, GROUP)[:2].tolist() == [0.5, -0.5]
    assert advantages("gpg(alpha='rewards')", REWARDS, GROUP)[:2].tolist() == [1, -1]
    assert advantages("gpg(scale=True)", REWARDS, GROUP)[0] == approx(2 * 0.5**0.5, abs=1e-3)


def test_no_group_with_spread_gives_nothing():
    assert not advantages("gpg", [1.0, 1.0, 0.0, 0.0], [0, 0, 1, 1]).any()
    assert advantages("gpg(single='raw')", [0.7]).tolist() == approx([0.7])


def test_the_loss_has_no_ratio():
    value, gradient = probe.objective("gpg", logp=[[-2.0, -1.0]], mask=[[1, 1]], advantages=[0.5])
    assert value == approx(0.75)
    assert gradient.tolist() == [[-0.25, -0.25]]


def test_more_prompts_while_too_few_have_spread():
    state = SimpleNamespace(draw=lambda count: ["request"] * count)
    batch = make_batch(REWARDS, GROUP)
    assert GPG().next_round(batch, state) is None
    assert GPG(threshold=0.6).next_round(batch, state) == ["request"] * 2
    assert GPG(threshold=0.5).next_round(batch, state) is None
    with pytest.raises(HarnessError, match="'groups'"):
        advantages("gpg(alpha='all')", REWARDS, GROUP)
