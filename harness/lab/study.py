"""A study: methods x settings, on both worlds, in worker processes."""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.lab.draw import Setting, Simulation
from harness.lab.worlds import WORLDS, make_world

if TYPE_CHECKING:
    from harness.host import Catalogue, Stack

__all__ = ["BATCHES", "MEASURES", "REFERENCE", "STACKED", "Study", "ordered", "run_study", "settings_for"]

STACKED = 1000  # batches of the reference setting; of the others half
BATCHES = 200  # as many of them see methods that look beyond the group, in a loop
REFERENCE = Setting()
MEASURES = ("step", "step_se", "mean_cosine", "bias", "bias_se", "noise", "sign_errors", "silent")


@dataclasses.dataclass
class Study:
    """What was measured. values[method][setting label][measure], averaged over the worlds; `left_out` says why."""

    settings: list[Setting]
    values: dict[str, dict[str, dict[str, float]]]
    left_out: dict[str, str]
    notes: dict[str, str]
    seconds: float  # of every process, on the CPU
    batches: dict[str, int] = dataclasses.field(default_factory=dict)  # a method was measured on

    def to_data(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {
            "settings": [dataclasses.asdict(setting) for setting in self.settings],
            "values": self.values, "left_out": self.left_out, "notes": self.notes, "batches": self.batches,
            "seconds": round(self.seconds, 1),
        }  # fmt: skip


def ordered(study: Study) -> list[str]:
    """Methods by what one step is worth at the reference, best first; without one last."""
    worth = {method: values[REFERENCE.label]["step"] for method, values in study.values.items()}
    return sorted(worth, key=lambda method: math.inf if math.isnan(worth[method]) else -worth[method])


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
        study.values[method], study.batches[method] = found["values"], found["batches"]
        if found["skipped"]:
            study.notes[method] = f"its {', '.join(found['skipped'])} not simulated"
    study.seconds = sum(found["seconds"] for found in measured.values())
    return study


def _quiet() -> None:
    from harness.runtime import single_threaded

    single_threaded()


@functools.lru_cache(maxsize=32)
def _simulation(world: str, setting: Setting, batches: int) -> Simulation:
    return Simulation(make_world(world, setting.difficulty), setting, batches)


@functools.lru_cache(maxsize=1)
def _catalogue(plugins: tuple[str, ...]) -> Catalogue:
    from harness.host import discover

    return discover(plugins)


def _measure(method: str, settings: tuple[Setting, ...], plugins: tuple[str, ...]) -> dict[str, Any]:
    """All settings of one method, as plain data: values and the seconds they took, or why it is left out."""
    from harness.errors import HarnessError
    from harness.host import build_stack
    from harness.lab.estimate import stands_alone

    began = time.process_time()
    values: dict[str, dict[str, float]] = {}
    skipped: set[str] = set()
    try:
        stack = build_stack(method, _catalogue(plugins))
        batches = STACKED if stands_alone(stack) else BATCHES
        for setting in settings:
            parts = []
            for world in WORLDS:
                measures, left = _one(stack.fresh(), world, setting)
                parts.append(measures)
                skipped.update(left)
            values[setting.label] = {name: _averaged(name, [part[name] for part in parts]) for name in MEASURES}
    except HarnessError as error:
        return {"left_out": " ".join(str(error).split()), "seconds": time.process_time() - began}
    seconds = time.process_time() - began
    if all(at["silent"] == 1 for at in values.values()):
        reason = f"{method}: pushes nothing in the lab, where what it goes by is not simulated"
        return {"left_out": reason, "seconds": seconds}
    return {"values": values, "skipped": sorted(skipped), "batches": batches, "seconds": seconds}


def _one(stack: Stack, world: str, setting: Setting) -> tuple[dict[str, float], tuple[str, ...]]:
    """The measures of one method in one world and setting, and the hooks that were not run."""
    from harness.lab import measures
    from harness.lab.estimate import estimate, sized

    less = 1 if setting == REFERENCE else 2
    setting = dataclasses.replace(setting, group_size=sized(stack, setting.group_size))
    simulation = _simulation(world, setting, STACKED // less)
    found = estimate(stack, simulation, most=BATCHES // less)
    ascent, exact = found.ascent.flatten(1), simulation.gradient.flatten()
    choice = simulation.choice[: len(ascent)]
    advantage = simulation.advantage.expand(len(choice), -1, -1).gather(2, choice)
    return {
        "step": measures.cosine_of_batches(ascent, exact),
        "step_se": measures.error_of_cosine(ascent, exact),
        "mean_cosine": measures.cosine_of_mean(ascent, exact),
        "bias": measures.bias(ascent, exact),
        "bias_se": measures.jackknife(measures.bias, ascent, exact),
        "noise": measures.noise(ascent),
        "sign_errors": measures.sign_errors(found.pull, advantage),
        "silent": measures.silent_groups(found.pull),
    }, found.skipped


def _averaged(name: str, values: Sequence[float]) -> float:
    """The mean over the worlds, whose batches are independent; of standard errors, that of the mean."""
    if name.endswith("_se"):
        return math.sqrt(sum(value * value for value in values)) / len(values)
    return _mean(values)


def _mean(values: Sequence[float]) -> float:
    """The mean of what there is; NaN where there is nothing."""
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
