"""Stand-ins for training's run_trial, named in jobs as "fake_trials:<function>"."""

import json
import os
import signal
import time
from types import SimpleNamespace


def result(directory, status="done", error=None, score=0.5):
    (directory / "result.json").write_text(json.dumps({"status": status, "error": error, "score": score}))
    return SimpleNamespace(status=status, error=error, score=score)


def quick(config, directory, *, should_stop, heartbeat):
    (directory / "config.json").write_text(json.dumps({"config": json.loads(config.model_dump_json())}))
    for step in range(3):
        heartbeat({"step": step, "progress": step / 3})
    print("hello from a trial")
    return result(directory, score=config.seed / 10)


def by_name(config, directory, *, should_stop, heartbeat):
    """Misbehave as the method's name says."""
    kind = config.method.split("+")[-1].partition("(")[0]
    if kind == "raises":
        raise ValueError("no\nluck")
    if kind == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind == "hungry":
        ballast = bytearray(400 * 2**20)
        ballast[::4096] = b"x" * len(ballast[::4096])
        time.sleep(60)
    if kind == "hangs":
        time.sleep(600)
    return quick(config, directory, should_stop=should_stop, heartbeat=heartbeat)


def until_stopped(config, directory, *, should_stop, heartbeat):
    """Count steps in a file until asked to stop; done after `budget.updates` steps in all."""
    counter = directory / "steps"
    count = int(counter.read_text()) if counter.exists() else 0
    while count < config.budget.limit:
        if should_stop():
            return result(directory, "interrupted", score=None)
        time.sleep(0.02)
        count += 1
        counter.write_text(str(count))
        heartbeat({"step": count, "progress": count / config.budget.limit})
    return result(directory)
