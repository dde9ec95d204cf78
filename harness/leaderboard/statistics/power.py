"""How many seeds an effect needs, and what so many seeds can see."""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize, stats

from harness.errors import UsageError

__all__ = [
    "detectable_by_items", "deviation_limits", "minimum_detectable_effect", "paired_power", "seeds_needed",
    "seeds_range",
]  # fmt: skip

MOST_SEEDS = 1_000_000
NODES, WEIGHTS = np.polynomial.legendre.leggauss(256)  # over the quantiles of the observed spread


def paired_power(seeds: int, effect: float, deviation: float, *, level: float = 0.05, comparisons: int = 1) -> float:
    """The chance that a paired t test over `seeds` finds a true difference, of either sign, of `effect`.

    `deviation` is the standard deviation over seeds of the paired difference. With several `comparisons` the level is
    that of Holm's first step, level / comparisons: the chance is then a lower bound. From the noncentral t with
    effect sqrt(n) / deviation (Cohen 1988), as the normal power averaged over the spread that may be observed, which
    stays accurate where libraries' noncentral t does not. 0 below two seeds.
    """
    if seeds < 2:
        return 0.0
    if deviation == 0:
        return 1.0 if effect else 0.0
    free, shift = seeds - 1, abs(effect) * math.sqrt(seeds) / deviation
    edge = float(stats.t.ppf(1 - level / max(comparisons, 1) / 2, free))
    spread = edge * np.sqrt(stats.chi2.ppf((NODES + 1) / 2, free) / free)
    found = stats.norm.sf(spread - shift) + stats.norm.cdf(-spread - shift)
    return float(WEIGHTS @ found) / 2


def seeds_needed(
    effect: float,
    deviation: float,
    *,
    power: float = 0.8,
    level: float = 0.05,
    comparisons: int = 1,
    least: int = 5,
) -> int:
    """The fewest seeds, never below `least`, that find a difference of `effect` with the chance `power`.

    UsageError for an effect of 0, a power outside (level, 1), or beyond a million seeds.
    """
    if not effect or not level < power < 1:
        raise UsageError(f"effect {effect:g} at power {power:g}: need an effect other than 0 and {level:g} < power < 1")

    def enough(seeds: int) -> bool:
        return paired_power(seeds, effect, deviation, level=level, comparisons=comparisons) >= power

    high = max(least, 2)
    while not enough(high):
        high *= 2
        if high > MOST_SEEDS:
            raise UsageError(f"an effect of {effect:g} needs over a million seeds where they spread by {deviation:g}")
    low = max(least, 2, high // 2)
    while low < high:  # power rises with seeds
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return high


def deviation_limits(deviation: float, seeds: int, *, level: float = 0.95) -> tuple[float, float]:
    """The interval of a normal population's standard deviation that `seeds` values gave; (0, inf) below two seeds.

    (n - 1) s^2 / sigma^2 follows chi-square with n - 1 degrees of freedom: two seeds leave [0.45, 31.9] times what they
    show, five [0.60, 2.87], ten [0.69, 1.83].
    """
    if seeds < 2:
        return 0.0, math.inf
    free, tail = seeds - 1, (1 - level) / 2
    low, high = (deviation * math.sqrt(free / float(stats.chi2.ppf(p, free))) for p in (1 - tail, tail))
    return low, high


def seeds_range(
    effect: float,
    deviation: float,
    behind: int,
    *,
    power: float = 0.8,
    level: float = 0.05,
    comparisons: int = 1,
    least: int = 5,
) -> tuple[int, float]:
    """`seeds_needed` at both ends of the 95 % interval of a deviation that was measured from `behind` seeds.

    The upper end is inf beyond a million seeds. Where the effect is as large as the deviation, two seeds say 5 to 7995,
    ten say 6 to 29. UsageError as of `seeds_needed`.
    """
    low, high = deviation_limits(deviation, behind)

    def needed(true: float) -> int:
        return seeds_needed(effect, true, power=power, level=level, comparisons=comparisons, least=least)

    fewest = needed(low)
    try:
        return fewest, needed(high)
    except UsageError:  # what is wrong with effect or power was said above: this is a deviation without bound
        return fewest, math.inf


def minimum_detectable_effect(
    seeds: int, deviation: float, *, power: float = 0.8, level: float = 0.05, comparisons: int = 1
) -> float:
    """The least true difference that `seeds` seeds find with the chance `power`; NaN below two seeds."""
    if seeds < 2:
        return math.nan

    def lacking(effect: float) -> float:
        return paired_power(seeds, effect, 1.0, level=level, comparisons=comparisons) - power

    high = 1.0
    while lacking(high) < 0:
        high *= 2
    return deviation * float(optimize.brentq(lacking, 0.0, high, xtol=1e-10))


def detectable_by_items(
    items: int, rate: float = 0.5, correlation: float = 0.5, *, power: float = 0.8, level: float = 0.05
) -> float:
    """The least difference that two fixed policies show on `items` items, one answer each, both right at `rate`.

    (z(1 - level / 2) + z(power)) sqrt(2 rate (1 - rate) (1 - correlation) / items), `correlation` that of the two
    policies' answers over items (Miller, arXiv:2411.00640): 26 points on 30 items, 4 on 1319.
    """
    z = float(stats.norm.ppf(1 - level / 2) + stats.norm.ppf(power))
    return z * float(np.sqrt(2 * rate * (1 - rate) * (1 - correlation) / items))
