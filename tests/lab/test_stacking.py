"""Methods that say that groups stand alone give the same gradients whether batches are run as one or one by one."""

from __future__ import annotations

import pytest
import torch

from harness.errors import HarnessError
from harness.host import build_stack, discover
from harness.lab.draw import Setting, Simulation
from harness.lab.estimate import estimate, sized, stands_alone
from harness.lab.worlds import WORLDS, make_world

CATALOGUE = discover()
SIMULATIONS = [Simulation(make_world(name), Setting(group_size=3, noise=0.2, stale=0.4), 4) for name in WORLDS]
ALONE = [name for name in CATALOGUE if stands_alone(build_stack(name, CATALOGUE))]


def _apart(name: str, simulation: Simulation) -> float:
    """The largest difference between the two ways, as a share of the largest entry."""
    stack = build_stack(name, CATALOGUE)
    together, apart = (estimate(stack.fresh(), simulation, stacked=stacked).ascent for stacked in (True, False))
    return float((together - apart).abs().max() / apart.abs().max().clamp_min(1e-30))


def test_most_methods_are_run_as_one() -> None:
    assert len(ALONE) > len(CATALOGUE) / 3


@pytest.mark.parametrize("simulation", SIMULATIONS, ids=list(WORLDS))
def test_stacking_changes_no_gradient(simulation: Simulation) -> None:
    wrong = {}
    for name in ALONE:
        try:
            if sized(build_stack(name, CATALOGUE), 3) != 3:
                continue
            gap = _apart(name, simulation)
        except HarnessError:
            continue  # nothing to run in the lab, or a task's columns are missing there
        if gap > 1e-9:
            wrong[name] = gap
    assert not wrong


def test_what_looks_beyond_the_group_is_run_one_by_one_on_the_first_batches() -> None:
    stack = build_stack("reinforce", CATALOGUE)
    assert not stands_alone(stack)
    found = estimate(stack, SIMULATIONS[0], most=3)
    alone = estimate(stack.fresh(), SIMULATIONS[0], stacked=False)
    assert torch.equal(found.ascent, alone.ascent[:3])
    assert len(found.pull) == 3


def test_a_scope_may_depend_on_parameters() -> None:
    texts = ("grpo(beta=0)", "grpo(beta=0, scale='batch')", "rloo(beta=0)", "rloo(beta=0, normalize=True)")
    assert [stands_alone(build_stack(text, CATALOGUE)) for text in texts] == [True, False, True, False]
