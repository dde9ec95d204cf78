"""Where search trials lie in the unit cube: the same places for every method, known before the first trial runs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["places"]

SEED = 20260  # of the shifts: one for all suites, so that no one can choose a lucky design


def places(sampler: str, count: int, dimensions: int) -> NDArray[np.float64]:
    """[count, dimensions] in [0, 1): "sobol" or "halton", each dimension shifted by its own fixed amount, or "random".

    A dimension's places do not depend on how many others there are: the settings that all methods share, which come
    first, are tried at the same values by every method. Quasi-random points need no order, so trials run in parallel,
    and cover a space of few dimensions more evenly than random ones (AlgoPerf draws its trials so, too).
    """
    if not count or not dimensions:
        return np.zeros((count, dimensions))
    if sampler == "random":
        columns = [np.random.default_rng((SEED, number)).random(count) for number in range(dimensions)]
        return np.stack(columns, axis=1)
    from scipy.stats import qmc

    if sampler == "sobol":
        points = qmc.Sobol(dimensions, scramble=False).random_base2(math.ceil(math.log2(count)))[:count]
    else:
        points = qmc.Halton(dimensions, scramble=False).random(count)
    shifts = [np.random.default_rng((SEED, number)).random() for number in range(dimensions)]
    return (points + np.array(shifts)) % 1.0
