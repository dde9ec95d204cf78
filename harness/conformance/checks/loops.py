"""No Python loop over rows or groups: four times the rows execute as many lines and as many torch operations."""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch.overrides import TorchFunctionMode

from harness.conformance.journal import Journal
from harness.conformance.probe_batch import tiled
from harness.errors import CheckFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.conformance.bench import Bench
    from harness.conformance.rehearsal import Rehearsal

TIMES = (1, 4, 8)
# Hooks of numbers alone. Requests, texts and records are Python objects: hooks that deal in them may loop.
HOOKS = frozenset({
    "group_by", "keep", "shape_rewards", "estimate_advantages", "train_on", "aggregate", "policy_loss", "loss",
    "regularize",
})  # fmt: skip


class Operations(TorchFunctionMode):
    """Counts the torch operations of every hook: a loop may hide in `map`, in a library, or in a helper elsewhere."""

    def __init__(self, running: list[str]) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self._running = running

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self._running:
            self.counts[self._running[-1]] += 1
        return func(*args, **(kwargs or {}))


def check(bench: Bench) -> str:
    """Lines executed in the plugin's own modules and torch operations, hook by hook."""
    rehearsal, inside = bench.rehearsal, _own_code(bench)
    counts = [_work(rehearsal, inside, times) for times in TIMES]
    added = rehearsal.probe.groups.number * (TIMES[1] - TIMES[0])
    for hook in sorted(HOOKS & set(bench.subject.seat.info.hooks)):
        for what in ("lines", "torch operations"):
            small, middle, large = (count[what][hook] for count in counts)
            # A loop grows with the rows at every size; a fixed point that took a few more rounds does not.
            if middle - small >= added and large - middle >= (middle - small) / 2:
                rows = len(rehearsal.probe)
                raise CheckFailed(
                    f"{hook} executes {small} {what} for {rows} rows and {middle} for {TIMES[1] * rows}: a loop over "
                    "rows or groups; batch.groups has their statistics at once"
                )
    said = (f"{sum(counts[0][what][hook] for hook in HOOKS)} {what}" for what in ("lines", "torch operations"))
    return f"{' and '.join(said)}, whatever the number of rows"


def _work(rehearsal: Rehearsal, inside: Callable[[str], bool], times: int) -> dict[str, Counter[str]]:
    """Lines and torch operations by hook of the probe, `times` under itself."""
    lines: Counter[str] = Counter()
    assert isinstance(rehearsal.journal, Journal)
    running = rehearsal.journal.running

    def local(frame: Any, event: str, argument: Any) -> Any:
        del frame, argument
        if event == "line" and running:
            lines[running[-1]] += 1
        return local

    def enter(frame: Any, event: str, argument: Any) -> Any:
        del event, argument
        return local if inside(frame.f_code.co_filename) else None

    before = sys.gettrace()
    with Operations(running) as operations:
        sys.settrace(enter)
        try:
            rehearsal.outcome(lambda batch: tiled(batch, times))
        finally:
            sys.settrace(before)
    return {"lines": lines, "torch operations": operations.counts}


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
