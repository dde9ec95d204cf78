"""Time against the number of rows, beside a plain z-score in the same process: a warning at most."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from harness.conformance.checks.loops import HOOKS
from harness.conformance.lab import Lab
from harness.conformance.probe_batch import tiled
from harness.conformance.reference import ZScore
from harness.conformance.results import Warned

if TYPE_CHECKING:
    from harness.conformance.bench import Bench
    from harness.host import Catalogue

SMALL, LARGE = 16, 64  # times the probe: about 256 and 1024 rows
GROWTH, SECONDS = 2.0, 5e-3  # what is worth a word: twice the growth of a z-score, and that much time
REPEATS = 3


def check(bench: Bench) -> str:
    """Seconds in the hooks of numbers at N and 4N rows."""
    small, large = _seconds(bench.lab, SMALL), _seconds(bench.lab, LARGE)
    plain = _yardstick(bench.seed)
    growth = large / small if small else 1.0
    said = f"{growth:.1f} times as long for 4 times the rows (z-score: {plain:.1f})"
    if growth > GROWTH * max(plain, 1.0) and large > SECONDS:
        raise Warned(f"{said}, {1000 * large:.0f} ms for {LARGE * len(bench.lab.probe)} rows")
    return said


def _seconds(lab: Lab, times: int) -> float:
    """The least time that the hooks of numbers took in a few tries."""
    batch = tiled(lab.probe, times)
    found = []
    for _ in range(REPEATS):
        before = {hook: lab.hooks.seconds[hook] for hook in HOOKS}
        lab.outcome(lambda _: batch)
        found.append(sum(lab.hooks.seconds[hook] - before[hook] for hook in HOOKS))
    return min(found)


@functools.lru_cache(maxsize=4)
def _yardstick(seed: int) -> float:
    """The same ratio of the z-score."""
    lab = Lab(ZScore.info.slug, _alone(), seed=seed, warm=0)  # type: ignore[attr-defined]
    return _seconds(lab, LARGE) / _seconds(lab, SMALL)


def _alone() -> Catalogue:
    from harness.host import Catalogue

    return Catalogue([]).with_class(ZScore)
