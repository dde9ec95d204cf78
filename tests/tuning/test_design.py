from __future__ import annotations

import numpy as np
import pytest

from harness.tuning.design import places

SAMPLERS = ["sobol", "halton", "random"]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_places_are_the_same_for_every_method_whatever_else_it_searches(sampler):
    wide = places(sampler, 7, 5)
    assert wide.shape == (7, 5)
    assert np.array_equal(wide, places(sampler, 7, 5))
    assert np.array_equal(wide[:, :2], places(sampler, 7, 2))
    assert ((wide >= 0) & (wide < 1)).all()
    assert len({tuple(row) for row in wide}) == 7


@pytest.mark.parametrize("sampler", ["sobol", "halton"])
def test_quasi_random_places_cover_each_dimension_evenly(sampler):
    """Of eight Sobol points each eighth of a dimension has one, up to the shift: gaps are never large."""
    for column in places(sampler, 8, 2).T:
        around = np.sort(column)
        gaps = np.diff(np.append(around, around[0] + 1))
        assert gaps.max() <= 0.251


def test_nothing_to_search_or_to_try():
    assert places("sobol", 3, 0).shape == (3, 0)
    assert places("sobol", 0, 2).shape == (0, 2)
