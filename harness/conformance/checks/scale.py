"""Time against the number of rows, beside a plain z-score in the same process: a warning at most."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from harness.conformance.checks.loops import HOOKS
from harness.conformance.probe_batch import tiled
from harness.conformance.reference import ZScore
from harness.conformance.rehearsal import Rehearsal
from harness.conformance.results import Warned

if TYPE_CHECKING:
    from harness.conformance.bench import Bench
    from harness.host import Catalogue

SMALL, LARGE = 12, 48  # times the probe: about 200 and 800 rows
GROWTH, SECONDS = 2.0, 5e-3  # what is worth a word: twice the growth of a z-score, and that much time
REPEATS = 3


def check(bench: Bench) -> str:
    """Seconds in the hooks of numbers at N and 4N rows."""
    plain = _yardstick(bench.seed)
    growth, large = _growth(bench.rehearsal)
    if growth > GROWTH * max(plain, 1.0) and large > SECONDS:  # or another process took the core
        growth, large = min(_growth(bench.rehearsal) for _ in range(REPEATS))
    said = f"{growth:.1f} times as long for 4 times the rows (z-score: {plain:.1f})"
    if growth > GROWTH * max(plain, 1.0) and large > SECONDS:
        raise Warned(f"{said}, {1000 * large:.0f} ms for {LARGE * len(bench.rehearsal.probe)} rows")
    return said


def _growth(rehearsal: Rehearsal) -> tuple[float, float]:
    """(time for the large batch over time for the small one, seconds for the large one)."""
    small, large = _seconds(rehearsal, SMALL), _seconds(rehearsal, LARGE)
    return (large / small if small else 1.0), large


def _seconds(rehearsal: Rehearsal, times: int) -> float:
    """The time that the hooks of numbers take."""
    before = {hook: rehearsal.hooks.seconds[hook] for hook in HOOKS}
    rehearsal.outcome(lambda batch: tiled(batch, times))
    return sum(rehearsal.hooks.seconds[hook] - before[hook] for hook in HOOKS)


@functools.lru_cache(maxsize=4)
def _yardstick(seed: int) -> float:
    """The same ratio of the z-score."""
    rehearsal = Rehearsal(ZScore.info.slug, _alone(), seed=seed, warm=0)  # type: ignore[attr-defined]
    small, large = (min(_seconds(rehearsal, times) for _ in range(REPEATS)) for times in (SMALL, LARGE))
    return large / small


def _alone() -> Catalogue:
    from harness.host import Catalogue

    return Catalogue([]).with_class(ZScore)
