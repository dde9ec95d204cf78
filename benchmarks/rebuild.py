"""What it takes to bring MLflow to what the files say: 40 methods x 10 seeds, some 1,000 points a trial.

Makes run directories as a suite leaves them, then measures three rebuilds, each in a process of its own: into an empty
store, with nothing changed, and with one trial changed. At most 90 CPU seconds and 1 GiB for the first.

    python benchmarks/rebuild.py --methods 40 --seeds 10
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CURVES = ("loss", "grad_norm", "reward", "correct", "length", "clip_share", "log_ratio_max", "surprisal", "kept",
          "waste", "zero_variance", "advantage_size", "logp_gap", "lr", "tokens", "rollouts")  # fmt: skip
STEPS = 120
EVALUATIONS = 21
BUDGET = 1_200_000.0
ITEMS = 500
MOST_SECONDS = 90.0  # of CPU, for the first rebuild
MOST_MEMORY = 1024  # MiB

REBUILD = """
import json, resource, sys, time
from pathlib import Path
from harness import runtime
runtime.prepare()
from harness.leaderboard import board
from harness.tracking import default_uri, sync
runs, uri = Path(sys.argv[1]), sys.argv[2]
began = time.process_time(), time.perf_counter()
made = board(runs)
drawn = time.process_time(), time.perf_counter()
done = sync(made, runs, uri)
ended = time.process_time(), time.perf_counter()
print(json.dumps({
    "board": [b - a for a, b in zip(began, drawn)], "mlflow": [b - a for a, b in zip(drawn, ended)],
    "all": time.process_time(), "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    "rows": [done.created, done.updated, done.unchanged, done.deleted],
}))
"""


def lines(path: Path, records: list[dict[str, Any]]) -> None:
    """Write JSON Lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def write_trial(root: Path, method: str, seed: int, gain: float) -> Path:
    """The directory of one trial that has ended."""
    dice = random.Random(f"{method} {seed}")
    folder = root / method.replace("(", "_").replace(")", "_") / f"seed-{seed}"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({
        "config": {"suite": root.name, "rules": 1, "method": method, "seed": seed, "budget": {"compute": BUDGET},
                   "sampling": {"prompts": 32, "group_size": 8}, "optimizer": {"lr": 1e-4}},
        "stack": method, "trial_key": f"{method}-{seed}",
        "spec": {"plugins": [{"name": method, "distribution": "policy-harness", "version": "0.1.0"}]},
        "provenance": {"cpu": "model A", "threads": 1, "packages": {"torch": "2.13.0"}},
    }))  # fmt: skip
    scores = [0.25 + gain * math.sqrt(i / (EVALUATIONS - 1)) + dice.gauss(0, 0.01) for i in range(EVALUATIONS)]
    lines(folder / "evaluations.jsonl", [
        {"step": 6 * i, "spent": BUDGET * i / (EVALUATIONS - 1), "progress": i / (EVALUATIONS - 1), "score": score,
         "tasks": {task: {"accuracy": score, "pass_at_1": score, "pass_at_k": score, "length": 20.0, "truncated": 0.0,
                          "k": 4, "problems": ITEMS} for task in ("math", "code")}}
        for i, score in enumerate(scores)
    ])  # fmt: skip
    lines(folder / "metrics.jsonl", [
        {"step": step, "spent": BUDGET * (step + 1) / STEPS, "progress": (step + 1) / STEPS,
         **{name: dice.random() for name in CURVES}} for step in range(STEPS)
    ])  # fmt: skip
    lines(folder / "timing.jsonl", [{"step": step, "total": 1.0 + dice.random()} for step in range(STEPS)])
    lines(folder / "items.jsonl", [
        {"task": task, "key": f"{task}:{i}", "greedy": dice.random() < scores[-1], "samples": 4,
         "correct_samples": dice.randint(0, 4)} for task in ("math", "code") for i in range(ITEMS)
    ])  # fmt: skip
    lines(folder / "samples.jsonl", [
        {"step": 6 * i, "spent": 0.0, "progress": i / (EVALUATIONS - 1), "task": "math", "key": f"math:{i}-{j}",
         "prompt": "31+30-43=", "text": "31+30=61;61-43=18#18", "correct": True, "tokens": 21, "truncated": False}
        for i in range(EVALUATIONS) for j in range(8)
    ])  # fmt: skip
    (folder / "ledger.json").write_text(json.dumps({
        "currency": "compute", "limit": BUDGET, "spent": BUDGET,
        "categories": {"generate": 250_000.0, "prompt": 20_000.0, "train": 900_000.0},
        "counts": {"tokens_generated": 250_000, "tokens_discarded": 10_000},
    }))  # fmt: skip
    (folder / "result.json").write_text(json.dumps({"status": "done", "spent": BUDGET, "steps": STEPS}))
    return folder


def rebuild(runs: Path, uri: str) -> dict[str, Any]:
    """One rebuild in a process of its own."""
    done = subprocess.run([sys.executable, "-c", REBUILD, str(runs), uri], check=True, stdout=subprocess.PIPE)
    return dict(json.loads(done.stdout))


def show(name: str, found: dict[str, Any]) -> None:
    """One line of the report."""
    (board, board_wall), (mlflow, mlflow_wall) = found["board"], found["mlflow"]
    made, updated, unchanged, deleted = found["rows"]
    print(
        f"{name:<18} board {board:6.1f} s, MLflow {mlflow:6.1f} s, all {found['all']:6.1f} s of CPU "
        f"({board_wall + mlflow_wall:.1f} s by the clock), {found['memory']:5.0f} MiB; rows: {made} made, "
        f"{updated} updated, {unchanged} unchanged, {deleted} deleted",
        flush=True,
    )


def main() -> None:
    """Make the runs, rebuild three times, and judge the first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--methods", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs, uri = Path(folder) / "many", f"sqlite:///{folder}/mlflow.db"
        methods = ["grpo(beta=0)", *(f"method-{i}" for i in range(1, given.methods))]
        for place, method in enumerate(methods):
            for seed in range(given.seeds):
                write_trial(runs, method, seed, 0.1 + 0.15 * place / given.methods)
        (runs / "suite.yaml").write_text(json.dumps({
            "name": "many", "rules": 1, "question": "Which learns most?", "baseline": methods[0], "methods": methods,
            "seeds": list(range(given.seeds)), "budget": {"compute": BUDGET},
        }))  # fmt: skip
        first = rebuild(runs, uri)
        show("empty store", first)
        show("nothing changed", rebuild(runs, uri))
        result = runs / methods[-1] / "seed-0" / "result.json"
        result.write_text(json.dumps({"status": "failed", "spent": BUDGET, "steps": STEPS, "error": "lost"}))
        show("one trial changed", rebuild(runs, uri))
    fine = first["all"] <= MOST_SECONDS and first["memory"] <= MOST_MEMORY
    print(f"{'within' if fine else 'BEYOND'} {MOST_SECONDS:.0f} s of CPU and {MOST_MEMORY} MiB")
    raise SystemExit(not fine)


if __name__ == "__main__":
    main()
