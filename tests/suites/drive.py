"""Run a suite with stand-in trials in a process of its own: python -m tests.suites.drive SUITE OUT RUNNER."""

import io
import sys
from pathlib import Path

from rich.console import Console

from harness.suites.run import execute, plan
from harness.suites.schema import Suite

if __name__ == "__main__":
    suite, out, runner = sys.argv[1:]
    todo = plan(Suite.load(suite), out=Path(out), canonical=str)
    print("ready", flush=True)
    report = execute(todo, workers=2, console=Console(file=io.StringIO()), runner=f"tests.suites.fake_trials:{runner}")
    print(*sorted(outcome.status for outcome in report.outcomes), report.skipped)
    sys.exit(report.exit_code)
