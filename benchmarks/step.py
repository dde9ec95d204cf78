"""A whole GRPO step (sample, score, update; 32 prompts x 8) against the raw bound and against TRL.

Fixed lengths: no completion ends early. Natural lengths: those of a checkpoint (`--natural`, default the embedded one)
on its math task, stated in the output; the raw bound has no such mode. CPU seconds of one thread, the
contestants interleaved in one process, median of 7. TRL runs in its own environment, given by `--trl PYTHON`.

    python benchmarks/step.py --new 16 64 [--natural [DIR]] [--trl ~/trl/bin/python]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
from raw_bound import Bound

from harness.policies.random import llama_policy
from harness.policies.registry import resolve
from harness.tasks.base import Problem, Task
from harness.tasks.load import load_task
from harness.tasks.mixture import Mixture
from harness.training.config import (
    BudgetConfig,
    LearnerConfig,
    PolicyConfig,
    SamplingConfig,
    TrialConfig,
)  # fmt: skip
from harness.training.loop import step
from harness.training.setup import Trial, make

REPEATS = 7
PROMPT = 7  # tokens, <bos> included
SHAPE = {"layers": 4, "width": 128, "heads": 4}


class Digits(Task):
    """Prompts of one length, and a reward that costs nothing: the share of digits."""

    name = "digits"
    columns = ("digits",)
    correct_column = "digits"

    def __init__(self) -> None:
        self.reward_weights = {"digits": 1.0}

    def problems(self, split: str, limit: int | None = None) -> Sequence[Problem]:
        """The same for every split."""
        del split
        numbers = [(a, b) for a in range(10, 99) for b in range(10, 99)]
        texts = [f"{a}+{b}=" for a, b in numbers][:limit]
        return [Problem(key=f"digits:{text}", prompt=text, task=self.name, answer=None) for text in texts]

    def score_texts(self, problems: Any, texts: Any, truncated: Any, *, sandbox: Any = None) -> dict[str, np.ndarray]:
        """Share of digits."""
        del problems, truncated, sandbox
        return {"digits": np.array([sum(map(str.isdigit, text)) / max(1, len(text)) for text in texts])}


def trial(directory: Path | str, task: Task, new: int, *, minibatches: int = 1, endless: bool = True) -> Trial:
    """A trial of `grpo(beta=0)`; `endless` completions never stop before `new` tokens."""
    config = TrialConfig(
        suite="benchmark", method="grpo(beta=0)", policy=PolicyConfig(model=str(directory)),
        sampling=SamplingConfig(prompts=32, group_size=8, max_tokens=new), budget=BudgetConfig(compute=1e12),
        learner=LearnerConfig(minibatches=minibatches, micro_batch=256),
    )  # fmt: skip
    made = make(config, Mixture([(task, 1.0)]), None)
    if endless:
        made.context.policy.stop_ids = ()
    return made


def stepper(made: Trial) -> Callable[[], None]:
    """A call a step."""
    numbers = iter(range(10**6))
    return lambda: step(made.context, made.lag, next(numbers)) and None


def race(contestants: dict[str, Callable[[], None]], repeats: int = REPEATS) -> dict[str, list[float]]:
    """CPU seconds of every repeat, contestants taking turns; the first round warms up."""
    took: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(repeats + 1):
        for name, run in contestants.items():
            began = time.process_time()
            run()
            if number:
                took[name].append(time.process_time() - began)
    return took


def trl(python: str, directory: Path | str, new: int, *, endless: bool, task: str, repeats: int = REPEATS) -> float:
    """Median CPU seconds of TRL's step on the same checkpoint."""
    script = Path(__file__).with_name("trl_step.py")
    command = [python, str(script), str(directory), "--new", str(new), "--steps", str(repeats), "--task", task]
    command += ["--endless"] if endless else []
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    found = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    return float(json.loads(found.strip().splitlines()[-1])["cpu_seconds"])


def fixed(directory: Path, new: int, python: str | None) -> dict[str, Any]:
    """Harness, raw bound, and TRL if there is one, at one fixed length."""
    shape = {**SHAPE, "inner": 4 * SHAPE["width"], "vocabulary": 79, "prompt": PROMPT, "new": new}
    contestants = {
        "harness": stepper(trial(directory, Digits(), new)),
        "bound": Bound(**shape).step,
        "bound_32_rows": Bound(**shape, rows=32).step,
    }
    took = {name: statistics.median(values) for name, values in race(contestants).items()}
    if python:
        took["trl"] = trl(python, directory, new, endless=True, task="digits")
    return report(f"fixed {new}", took)


def natural(directory: str, python: str | None) -> dict[str, Any]:
    """Harness and TRL where completions end by themselves."""
    task = load_task("math")
    made = trial(directory, task, 40, endless=False)
    lengths: list[float] = []
    run = stepper(made)

    def once() -> None:
        run()
        assert made.context.state.gathered is not None
        lengths.append(float(made.context.state.gathered.lengths.float().mean()))

    took = {name: statistics.median(values) for name, values in race({"harness": once}).items()}
    if python:
        took["trl"] = trl(python, resolve(directory), 40, endless=False, task="math")
    return report("natural", took) | {"mean_length": round(statistics.mean(lengths), 1), "checkpoint": directory}


def report(name: str, took: dict[str, float]) -> dict[str, Any]:
    """CPU seconds, and the ratios that matter."""
    found: dict[str, Any] = {"case": name, **{key: round(value, 4) for key, value in took.items()}}
    ours = took["harness"]
    for other in took.keys() - {"harness"}:
        found[f"harness/{other}"] = round(ours / took[other], 3)
    if "trl" in took:
        found["speed-up over trl"] = round(took["trl"] / ours, 3)
    return found


def main() -> None:
    """A JSON line a case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--new", type=int, nargs="*", default=[16, 64])
    parser.add_argument("--natural", nargs="?", const="embedded", default=None)
    parser.add_argument("--trl", default=None, help="the Python of an environment that has TRL")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as directory:
        llama_policy(**SHAPE, seed=0).save(directory)
        for new in options.new:
            print(json.dumps(fixed(Path(directory), new, options.trl)), flush=True)
    if options.natural:
        print(json.dumps(natural(options.natural, options.trl)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
