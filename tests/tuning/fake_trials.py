"""Stand-ins for training's run_trial: the score is a known function of the settings."""

from __future__ import annotations

import json
import math
import time
from types import SimpleNamespace

BEST = 2.2e-4  # of the learning rates


def end(config, directory, status, score, error=None):
    record = {"config": json.loads(config.model_dump_json()), "stack": config.row}
    if config.tuned is not None:
        record["tuning"] = {"trials": config.tuned.trials, "spent": config.tuned.spent}
    (directory / "config.json").write_text(json.dumps(record))
    lines = [{"step": step, "progress": step / 2, "spent": config.budget.limit * step / 2,
              "tasks": {"math": {"pass_at_1": value}}, "score": value}
             for step, value in enumerate([0.2, 0.5 - (score or 0), score or 0])]  # fmt: skip
    (directory / "evaluations.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = {"status": status, "error": error, "score": score, "untrained": 0.2, "spent": config.budget.limit,
              "limit": config.budget.limit, "seconds": 1.0}  # fmt: skip
    (directory / "result.json").write_text(json.dumps(result))
    return SimpleNamespace(status=status, error=error, score=score)


def value(config):
    return 0.5 - abs(math.log10(config.optimizer.lr / BEST)) / 4


def by_rate(config, directory, *, should_stop, heartbeat):
    """Better the closer the learning rate is to the best."""
    heartbeat({"step": 1, "progress": 0.5})
    return end(config, directory, "done", value(config))


def fails_fast(config, directory, *, should_stop, heartbeat):
    """Every search trial beside the first dies before it has a score."""
    if config.tuned.number:
        raise ValueError("no luck")
    return end(config, directory, "done", 0.1)


def slowly(config, directory, *, should_stop, heartbeat):
    """Twenty steps, counted in a file; stops when asked to."""
    counter = directory / "steps"
    count = int(counter.read_text()) if counter.exists() else 0
    while count < config.budget.limit:
        if should_stop():
            (directory / "result.json").write_text(json.dumps({"status": "interrupted"}))
            return SimpleNamespace(status="interrupted", error=None, score=None)
        time.sleep(0.02)
        count += 1
        counter.write_text(str(count))
        heartbeat({"step": count, "progress": count / config.budget.limit})
    return end(config, directory, "done", value(config))
