"""What hooks, checks, metrics and logging cost of a step: at most 3 %.

Measured from inside, in CPU time, over steps of the harness's own benchmark shape (32 prompts x 8):

- checks: everything that looks at what a hook returned (`harness.host.contracts`);
- dispatch: calls of every hook times the cost of a call that does nothing;
- metrics: the statistics of a step, `harness.training.metrics` and `measures`;
- logging: the records of metrics.jsonl and timing.jsonl, and the ledger's bookkeeping.

    python benchmarks/overhead.py --new 16 64
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from step import REPEATS, SHAPE, Digits, trial

from harness.budget import Ledger
from harness.host import contracts
from harness.policies.random import llama_policy
from harness.training import gradients, learner, loop
from harness.training.files import TrialFiles
from harness.training.stages import end


class Clock:
    """CPU seconds by name, of functions that it wraps; what is nested is counted once, by the outermost."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.inside = False

    def wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, timed."""

        def timed(*arguments: Any, **options: Any) -> Any:
            if self.inside:
                return function(*arguments, **options)
            self.inside = True
            began = time.process_time()
            try:
                return function(*arguments, **options)
            finally:
                self.seconds[name] += time.process_time() - began
                self.inside = False

        return timed

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Everything that counts as overhead, wrapped."""
        checks = {hook: self.wrap("checks", check) for hook, check in contracts.CHECKS.items()}
        with (
            mock.patch.dict(contracts.CHECKS, checks),
            mock.patch.object(end, "sampled", self.wrap("metrics", end.sampled)),
            mock.patch.object(end, "trained", self.wrap("metrics", end.trained)),
            mock.patch.object(gradients, "finite", self.wrap("metrics", gradients.finite)),
            mock.patch.object(
                learner.Learner,
                "_measure",
                staticmethod(self.wrap("metrics", learner.Learner._measure)),  # noqa: SLF001
            ),
            mock.patch.object(Ledger, "charge", self._method("logging", Ledger.charge)),
            mock.patch.object(Ledger, "count", self._method("logging", Ledger.count)),
        ):
            yield

    def _method(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        timed = self.wrap(name, function)

        def bound(this: Any, *arguments: Any, **options: Any) -> Any:
            return timed(this, *arguments, **options)

        return bound


def dispatch_seconds(made: Any, calls: int = 2000) -> float:
    """CPU seconds of one hook call that does nothing: the default `next_round`, its check included."""
    batch = made.context.state.gathered
    began = time.process_time()
    for _ in range(calls):
        made.context.hooks.next_round(batch=batch, round=0)
    return (time.process_time() - began) / calls


def measure(directory: str, new: int) -> dict[str, Any]:
    """The shares of one fixed length."""
    made = trial(directory, Digits(), new, minibatches=4)
    files = TrialFiles(Path(directory) / f"trial-{new}")
    steps = iter(range(10**6))
    loop.step(made.context, made.lag, next(steps))
    shares: dict[str, list[float]] = defaultdict(list)
    for _ in range(REPEATS):
        clock = Clock()
        before = sum(made.context.hooks.calls.values())
        with clock.watching():
            began = time.process_time()
            metrics, timing = loop.step(made.context, made.lag, next(steps))
            write = clock.wrap("logging", files.append)
            write("metrics.jsonl", metrics)
            write("timing.jsonl", timing)
            total = time.process_time() - began
        calls = sum(made.context.hooks.calls.values()) - before
        found = {**clock.seconds, "dispatch": calls * dispatch_seconds(made)}
        for name, seconds in {**found, "all": sum(found.values())}.items():
            shares[name].append(seconds / total)
        shares["step_seconds"].append(total)
    return {"case": f"fixed {new}", **{name: round(statistics.median(values), 4) for name, values in shares.items()}}


def main() -> int:
    """A JSON line a length; exit 1 above 3 %."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--new", type=int, nargs="*", default=[16, 64])
    options = parser.parse_args()
    torch.set_num_threads(1)
    worst = 0.0
    with tempfile.TemporaryDirectory() as directory:
        llama_policy(**SHAPE, seed=0).save(directory)
        for new in options.new:
            found = measure(directory, new)
            worst = max(worst, found["all"])
            print(json.dumps(found), flush=True)
    return int(worst > 0.03)


if __name__ == "__main__":
    raise SystemExit(main())
