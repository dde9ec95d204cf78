import contextlib
from types import SimpleNamespace

import pytest
import torch
from harness_papers.objectives.sfpo import SFPO

from harness.budget import BudgetSpent


class Steps:
    """A learner with one weight, which every epoch moves by 1; the budget ends at a given epoch."""

    def __init__(self, ends_at=99):
        self.weight, self.left = 0.0, ends_at

    def epoch(self, _):
        self.left -= 1
        if self.left < 0:
            raise BudgetSpent("spent")
        self.weight += 1
        return {"loss": 0.0}

    @contextlib.contextmanager
    def tentative(self):
        origin = self.weight
        try:
            yield origin
        except BaseException:
            self.weight = origin
            raise

    def interpolate(self, origin, alpha):
        self.weight = origin + alpha * (self.weight - origin)


def updated(learner, **params):
    plugin = SFPO(**params)
    plugin.start()
    plugin.update(learner=learner, batch=SimpleNamespace(entropy=None))
    return learner.weight


def test_fast_passes_a_return_and_a_slow_pass():
    assert updated(Steps(), fast=3, alpha=0.5) == 2.5
    assert updated(Steps(), fast=0) == 1.0


def test_a_budget_that_ends_while_looking_ahead_leaves_the_weights_as_they_were():
    learner = Steps(ends_at=2)
    with pytest.raises(BudgetSpent):
        updated(learner)
    assert learner.weight == 0.0


@pytest.mark.parametrize(("threshold", "stops"), [(1.4, 1.0), (1.42, 0.0)])
def test_it_stops_for_good_once_the_last_entropy_stands_out(threshold, stops):
    """Of 0, 0 and 1 the mean is 1/3 and the std over n is the root of 2/9: the last one is 1.414 of them above."""
    plugin, found = SFPO(fast=1, window=3, threshold=threshold), []
    plugin.start()
    for entropy in (0.0, 0.0, 1.0, 0.0):
        batch = SimpleNamespace(entropy=torch.full((2, 2), entropy), mask=torch.ones(2, 2))
        found.append(plugin.update(learner=Steps(), batch=batch)["sfpo_stopped"])
    assert found == [0.0, 0.0, stops, stops]
