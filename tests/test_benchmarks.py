"""Benchmarks run; the list of exceptions of one is about methods that exist, and the GPU check can fail."""

import importlib
import json
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


BLOCKED = """
import runpy
import sys

for name in ("pluggy", "pydantic", "typer", "mlflow", "lm_eval", "datasets", "scipy", "pandas"):
    sys.modules[name] = None  # as if it were not installed
sys.argv = ["gpu_check.py", "--toy"]
runpy.run_path("gpu_check.py", run_name="__main__")
"""


def test_the_gpu_check_runs_at_toy_size_with_torch_and_transformers_alone():
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED], cwd=BENCHMARKS, capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    checked = found["correctness"]["toy"]
    assert checked["passed"]
    assert checked["sampler_gap"] < 1e-4  # the cache and whole passes agree in float32
    assert checked["logp_gap"] > 0  # bfloat16 was really used
    assert found["speed"]["toy"]["step_seconds"] > 0


def test_the_gpu_check_fails_where_the_sampler_is_wrong(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    check = importlib.import_module("gpu_check")
    right = check.sample

    def off_by_one(*args, **kwargs):
        rollouts = right(*args, **kwargs)
        return rollouts.replace(completion_ids=rollouts.completion_ids.roll(1, 1))

    monkeypatch.setattr(check, "sample", off_by_one)
    assert check.main(["--toy", "--device", "cpu"]) == 1
    assert not json.loads(capsys.readouterr().out.splitlines()[-1])["correctness"]["toy"]["passed"]
