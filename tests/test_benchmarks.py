"""The benchmark of estimators runs, and its list of exceptions is about methods that exist."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from harness.host import discover

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_exceptions_are_methods():
    slower = runpy.run_path(str(BENCHMARKS / "estimator_exceptions.py"))["SLOWER"]
    catalogue = discover()
    assert all(
        "estimate_advantages" in catalogue[slug].hooks or "aggregate" in catalogue[slug].hooks for slug in slower
    )
    assert all(reason for reason in slower.values())


@pytest.mark.slow
def test_estimators_are_measured():
    command = ["estimators.py", "--completions", "64", "--repeats", "1", "--methods", "grpo,ppo", "--limit", "1000"]
    done = subprocess.run(
        [sys.executable, *command], cwd=BENCHMARKS, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "3 of 3 within 1000.0x" in done.stdout  # both hooks of grpo, the weights of ppo
    assert "ppo                          estimate_advantages  cannot run here" in done.stdout
