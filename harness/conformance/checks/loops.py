"""No Python loop over rows or groups: four times the rows execute as many lines of the plugin."""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.conformance.journal import Journal
from harness.conformance.probe_batch import tiled
from harness.errors import CheckFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.conformance.bench import Bench
    from harness.conformance.lab import Lab

TIMES = (1, 4, 8)
# Hooks of numbers alone. Requests, texts and records are Python objects: hooks that deal in them may loop.
HOOKS = frozenset({
    "group_by", "keep", "shape_rewards", "estimate_advantages", "train_on", "aggregate", "policy_loss", "loss",
    "regularize",
})  # fmt: skip


def check(bench: Bench) -> str:
    """Lines executed in the plugin's own modules, hook by hook."""
    lab, inside = bench.lab, _own_code(bench)
    groups = lab.probe.groups.number
    counts = [_lines(lab, inside, times) for times in TIMES]
    for hook in sorted(HOOKS & set(bench.subject.seat.info.hooks)):
        small, middle, large = (count[hook] for count in counts)
        added = groups * (TIMES[1] - TIMES[0])
        # A loop grows with the rows at every size; a fixed point that took a few more rounds does not.
        if middle - small >= added and large - middle >= (middle - small) / 2:
            raise CheckFailed(
                f"{hook} executes {small} lines for {len(lab.probe)} rows and {middle} for {4 * len(lab.probe)}: "
                "a loop over rows or groups; batch.groups has their statistics at once"
            )
    return f"{sum(counts[0][hook] for hook in HOOKS)} lines, whatever the number of rows"


def _lines(lab: Lab, inside: Callable[[str], bool], times: int) -> Counter[str]:
    """Lines executed by hook of the probe, `times` under itself."""
    counts: Counter[str] = Counter()
    assert isinstance(lab.journal, Journal)
    running = lab.journal.running

    def local(frame: Any, event: str, argument: Any) -> Any:
        del frame, argument
        if event == "line" and running:
            counts[running[-1]] += 1
        return local

    def enter(frame: Any, event: str, argument: Any) -> Any:
        del event, argument
        return local if inside(frame.f_code.co_filename) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        lab.outcome(lambda batch: tiled(batch, times))
    finally:
        sys.settrace(before)
    return counts


def _own_code(bench: Bench) -> Callable[[str], bool]:
    """Whether a file belongs to the plugin: its classes' files, and the packages that they are in."""
    files: set[str | None] = set()
    packages: set[str] = set()
    for cls in type(bench.subject.seat.plugin).__mro__[:-1]:
        files.add(inspect.getsourcefile(cls))
        top = sys.modules.get(cls.__module__.partition(".")[0])
        if top is not None and top.__name__ != "harness":
            packages.update(str(Path(path).resolve()) + "/" for path in getattr(top, "__path__", ()))
    return lambda file: file in files or file.startswith(tuple(packages))
