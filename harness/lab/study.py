"""A study: methods x settings, on both worlds, in worker processes."""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.lab.draw import Setting, Simulation
from harness.lab.worlds import WORLDS, make_world

__all__ = ["BATCHES", "MEASURES", "REFERENCE", "Study", "run_study", "settings_for"]

BATCHES = 200
STACKED = 2000
REFERENCE = Setting()
MEASURES = ("step", "mean_cosine", "bias", "noise", "sign_errors", "silent")


@dataclasses.dataclass
class Study:
    """What was measured. values[method][setting label][measure], averaged over the worlds; `left_out` says why."""

    settings: list[Setting]
    values: dict[str, dict[str, dict[str, float]]]
    left_out: dict[str, str]
    notes: dict[str, str]
    seconds: float

    def to_data(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {
            "settings": [dataclasses.asdict(setting) for setting in self.settings],
            "values": self.values, "left_out": self.left_out, "notes": self.notes, "seconds": round(self.seconds, 1),
        }  # fmt: skip


def settings_for(sizes: Sequence[int]) -> list[Setting]:
    """The reference, then one axis at a time: group size, pass rates, flipped verdicts, staleness."""
    found = [REFERENCE, *(Setting(group_size=size) for size in sizes)]
    found += [Setting(difficulty=rates) for rates in ("hard", "even", "easy")]
    found += [Setting(noise=share) for share in (0.1, 0.2)]
    found += [Setting(stale=distance) for distance in (0.3, 0.6)]
    return list(dict.fromkeys(found))


def run_study(
    methods: Sequence[str],
    settings: Sequence[Setting],
    *,
    plugins: Sequence[str | Path] = (),
    workers: int = 2,
    told: Callable[[str], None] = lambda _: None,
) -> Study:
    """Measure every method in every setting; `told` hears of each method that is done."""
    import concurrent.futures
    import multiprocessing

    began = time.perf_counter()
    study = Study(list(settings), {}, {}, {}, 0.0)
    measured: dict[str, Mapping[str, Any]] = {}
    context = multiprocessing.get_context("spawn")  # a fork of a process that has run torch may hang
    with concurrent.futures.ProcessPoolExecutor(workers, context, _quiet) as pool:
        jobs = {pool.submit(_measure, method, tuple(settings), tuple(map(str, plugins))): method for method in methods}
        for job in concurrent.futures.as_completed(jobs):
            measured[jobs[job]] = job.result()
            told(jobs[job])
    for method in methods:  # in the order they were named
        found = measured[method]
        if "left_out" in found:
            study.left_out[method] = found["left_out"]
            continue
        study.values[method] = found["values"]
        if found["skipped"]:
            study.notes[method] = f"its {', '.join(found['skipped'])} not simulated"
    study.seconds = time.perf_counter() - began
    return study


def _quiet() -> None:
    from harness.runtime import single_threaded

    single_threaded()


@functools.lru_cache(maxsize=64)
def _simulation(world: str, setting: Setting, batches: int) -> Simulation:
    return Simulation(make_world(world, setting.difficulty), setting, batches)


def _measure(method: str, settings: tuple[Setting, ...], plugins: tuple[str, ...]) -> dict[str, Any]:
    """All settings of one method, as plain data: values, or why it is left out."""
    from harness.errors import HarnessError
    from harness.host import discover

    catalogue = discover(plugins)
    values: dict[str, dict[str, float]] = {}
    skipped: set[str] = set()
    try:
        for setting in settings:
            parts = []
            for world in WORLDS:
                measures, left = _one(method, catalogue, world, setting)
                parts.append(measures)
                skipped.update(left)
            values[setting.label] = {name: _mean([part[name] for part in parts]) for name in MEASURES}
    except HarnessError as error:
        return {"left_out": " ".join(str(error).split())}
    return {"values": values, "skipped": sorted(skipped)}


def _one(method: str, catalogue: Any, world: str, setting: Setting) -> tuple[dict[str, float], tuple[str, ...]]:
    """The measures of one method in one world and setting, and the hooks that were not run."""
    from harness.host import build_stack
    from harness.lab import measures
    from harness.lab.estimate import estimate, sized, stands_alone

    stack = build_stack(method, catalogue)
    setting = dataclasses.replace(setting, group_size=sized(stack, setting.group_size))
    simulation = _simulation(world, setting, STACKED if stands_alone(stack) else BATCHES)
    found = estimate(stack, simulation)
    truth = simulation.world.advantage(simulation.world.logits)
    ascent, exact = found.ascent.flatten(1), simulation.world.gradient(simulation.world.logits).flatten()
    advantage = truth.expand(simulation.batches, *truth.shape).gather(2, simulation.choice)
    return {
        "step": measures.cosine_of_batches(ascent, exact),
        "mean_cosine": measures.cosine_of_mean(ascent, exact),
        "bias": measures.bias(ascent, exact),
        "noise": measures.noise(ascent),
        "sign_errors": measures.sign_errors(found.pull, advantage),
        "silent": measures.silent_groups(found.pull),
    }, found.skipped


def _mean(values: Sequence[float]) -> float:
    """The mean of what there is; NaN where there is nothing."""
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
