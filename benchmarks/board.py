"""What it takes to make a board of 40 methods x 10 seeds x 4 tasks, stage by stage.

Makes run directories as a suite leaves them (21 evaluations, 400 problems a task, 120 steps of metrics and timing),
then reads them in a process of its own. At most 10 CPU seconds and 1 GiB for the board; the tables of raw data are told
beside it. CPU seconds, because other work on the machine stretches the clock.

    python benchmarks/board.py --methods 40 --seeds 10 --tasks 4
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

STEPS, EVALUATIONS, PROBLEMS, SAMPLES = 120, 21, 400, 4
BUDGET = 1_200_000.0
MOST_SECONDS, MOST_MEMORY = 10.0, 1024  # CPU seconds, MiB
CURVES = ("loss", "grad_norm", "reward", "correct", "length", "truncated", "clip_share", "log_ratio_max", "surprisal",
          "kept", "waste", "zero_variance", "advantage_size", "logp_gap", "logp_gap_max", "lr", "tokens", "rollouts",
          "rounds", "age", "updates", "tokens_trained", "reward/correct", "reward/format", "reward/brevity",
          "reward/steps")  # fmt: skip
HOOKS = ("start", "build", "select_prompts", "allocate_rollouts", "generate", "score", "group_by", "keep", "next_round",
         "augment", "annotate", "shape_rewards", "estimate_advantages", "train_on", "aggregate", "policy_loss",
         "regularize", "update", "end_step")  # fmt: skip

STAGES = """
import json, resource, sys, time
from pathlib import Path
from harness.leaderboard import board, read_trials
from harness.leaderboard.formats import as_csv, as_json, as_markdown
from harness.leaderboard.scores import items_table, scores_table
from harness.leaderboard.table import as_table
from rich.console import Console

runs, spent, shown = Path(sys.argv[1]), {}, None

def stage(name, work):
    began = time.process_time()
    value = work()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    spent[name] = (time.process_time() - began, memory)
    return value

began = time.process_time()
trials = stage("settings of the trials", lambda: read_trials(runs))
stage("evaluations, ledgers, results", lambda: [(t.evaluations, t.ledger, t.result, t.seconds) for t in trials])
stage("answers", lambda: [t.answers for t in trials])
stage("metrics", lambda: [len(t.metrics) for t in trials])
del trials
made = stage("the board, everything read anew", lambda: board(runs))
stage("table", lambda: Console(width=160, file=open("/dev/null", "w")).print(as_table(made)))
stage("Markdown, CSV, JSON", lambda: (as_markdown(made), as_csv(made), as_json(made)))
stage("raw data", lambda: (scores_table(made), items_table(made)))
print(json.dumps(spent))
"""
ALONE = """
import json, resource, sys, time
from pathlib import Path
from harness.leaderboard import board
began = time.process_time()
made = board(Path(sys.argv[1]))
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": time.process_time() - began, "memory": memory, "rows": len(made.rows)}))
"""


def main() -> None:
    """Make the runs, measure, print; exit 1 beyond the limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("methods", 40), ("seeds", 10), ("tasks", 4)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder) / "runs" / "large"
        write_runs(runs, given.methods, given.seeds, given.tasks)
        size = sum(file.stat().st_size for file in runs.rglob("*") if file.is_file())
        print(f"{given.methods} methods x {given.seeds} seeds x {given.tasks} tasks, {size / 2**20:.0f} MiB of files")
        alone = measured(ALONE, runs)
        stages = measured(STAGES, runs)
    print(f"board        {alone['seconds']:6.2f} CPU s  {alone['memory']:5.0f} MiB at most  ({alone['rows']} rows)")
    print("stages, each from the start, in another process:")
    for name, (seconds, memory) in stages.items():
        print(f"  {name:<34} {seconds:6.2f} CPU s  {seconds / alone['seconds']:5.2f} boards  {memory:5.0f} MiB so far")
    if alone["seconds"] > MOST_SECONDS or alone["memory"] > MOST_MEMORY:
        sys.exit(f"over the limit of {MOST_SECONDS:.0f} CPU seconds and {MOST_MEMORY} MiB")


def measured(script: str, runs: Path) -> Any:
    """What a script prints, run in a process of its own."""
    done = subprocess.run([sys.executable, "-c", script, str(runs)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def write_runs(root: Path, methods: int, seeds: int, tasks: int) -> None:
    """A suite's run directory: the baseline, its placebo, random rewards, and made-up methods."""
    names = [
        "grpo(beta=0)",
        "grpo(beta=0)+placebo",
        "grpo(beta=0)+random-reward",
        *(f"method-{i}" for i in range(methods)),
    ]
    names = names[:methods]
    suite = {"name": "large", "rules": 1, "baseline": names[0], "methods": names, "seeds": list(range(seeds)),
             "budget": {"compute": BUDGET}}  # fmt: skip
    root.mkdir(parents=True)
    (root / "suite.yaml").write_text(json.dumps(suite))  # JSON is YAML
    for number, method in enumerate(names):
        for seed in range(seeds):
            drawn = random.Random(f"{0 if 'placebo' in method else number} {seed}")
            write_trial(root / f"m{number}" / f"seed-{seed}", method, seed, tasks, drawn)


def write_trial(path: Path, method: str, seed: int, tasks: int, drawn: random.Random) -> None:
    """One trial's files at the sizes that real ones have."""
    path.mkdir(parents=True)
    names = [f"task{k}" for k in range(tasks)]
    gain = drawn.gauss(0.2, 0.03)
    files = {
        "config.json": json.dumps(settings(method, seed)),
        "result.json": json.dumps({"status": "done", "spent": BUDGET, "steps": STEPS, "error": None}),
        "ledger.json": json.dumps({
            "currency": "compute", "limit": BUDGET, "spent": BUDGET, "total": {"seconds": 60.0},
            "categories": {"generate": 250e3, "prompt": 20e3, "train": 800e3, "old": 130e3},
            "counts": {"tokens_generated": 250e3, "tokens_discarded": 2e3, "rollouts_requested": 3e4},
        }),
        "evaluations.jsonl": lines(
            {"step": int(share * STEPS), "spent": share * BUDGET, "progress": share,
             "tasks": {name: measures(0.3 + gain * share**0.5 + drawn.gauss(0, 0.01)) for name in names}}
            for share in (i / (EVALUATIONS - 1) for i in range(EVALUATIONS))
        ),
        "metrics.jsonl": lines(
            {"step": i, "spent": (i + 1) / STEPS * BUDGET, "progress": (i + 1) / STEPS,
             **{name: drawn.random() for name in CURVES}} for i in range(STEPS)
        ),
        "timing.jsonl": lines(
            {"step": i, "total": 0.5, "stages": {name: drawn.random() for name in HOOKS[:8]},
             "hooks": {name: drawn.random() for name in HOOKS}, "memory": 542838784} for i in range(STEPS)
        ),
        "items.jsonl": lines(
            {"task": name, "key": f"{name}:problem-{i}", "greedy": drawn.random() < 0.5,
             "correct_samples": drawn.randrange(SAMPLES + 1), "samples": SAMPLES,
             "text": "x" * drawn.randrange(20, 120)}
            for name in names for i in range(PROBLEMS)
        ),
    }  # fmt: skip
    for name, text in files.items():
        (path / name).write_text(text)


def settings(method: str, seed: int) -> dict[str, Any]:
    """config.json."""
    plugin = {"name": method, "label": method, "params": {"clip": 0.2}, "digest": "00" * 32, "given": True,
              "distribution": "policy-harness", "version": "0.1.0"}  # fmt: skip
    return {
        "config": {"suite": "large", "rules": 1, "method": method, "seed": seed, "budget": {"compute": BUDGET}},
        "stack": method, "spec": {"canonical": method, "plugins": [plugin]}, "clips": True, "experimental": False,
        "trial_key": f"{method}-{seed}", "semantics": 2,
        "provenance": {"cpu": "some", "threads": 1, "commit": "0" * 40, "packages": {"torch": "2"}},
    }  # fmt: skip


def measures(score: float) -> dict[str, float]:
    """One task's part of an evaluation."""
    return {"accuracy": score + 0.02, "pass_at_1": score, "pass_at_k": score + 0.2, "k": SAMPLES, "length": 14.2,
            "truncated": 0.01, "problems": PROBLEMS}  # fmt: skip


def lines(records: Any) -> str:
    """JSON Lines."""
    return "".join(json.dumps(record) + "\n" for record in records)


if __name__ == "__main__":
    main()
