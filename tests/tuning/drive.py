"""Run a suite with stand-in trials in a process of its own: python -m tests.tuning.drive SUITE OUT RUNNER."""

import io
import sys
from pathlib import Path

from rich.console import Console

from harness.suites.run import execute, plan
from harness.suites.schema import Suite

if __name__ == "__main__":
    suite, out, runner = sys.argv[1:]
    todo = plan(Suite.load(suite), out=Path(out))
    report = execute(todo, workers=2, console=Console(file=io.StringIO()), runner=f"tests.tuning.fake_trials:{runner}")
    sys.exit(report.exit_code)
