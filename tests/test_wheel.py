"""The wheel holds all that the quickstart needs: suites, checkpoint, task files, methods."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def _run(*command: str, cwd: Path) -> str:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, check=False, cwd=cwd, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_wheel_runs_quickstart_from_an_empty_directory(tmp_path: Path) -> None:
    _run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(ROOT), cwd=tmp_path)
    (wheel,) = tmp_path.glob("policy_harness-*.whl")
    venv, empty = tmp_path / "venv", tmp_path / "empty"
    empty.mkdir()
    _run(sys.executable, "-m", "venv", str(venv), cwd=tmp_path)
    python = venv / "bin" / "python"
    _run(str(python), "-m", "pip", "install", "-q", "--no-deps", str(wheel), cwd=tmp_path)
    # The dependencies of the environment that runs the tests, without its own copy of the project.
    site = _run(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=empty).strip()
    (Path(site) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    where = _run(str(python), "-c", "import harness, harness_papers; print(harness.__file__)", cwd=empty)
    assert str(venv) in where
    settings = ["--budget", "60k", "--seeds", "1", "--set", "evaluation.problems=10", "--set", "evaluation.samples=1"]
    out = _run(str(venv / "bin" / "harness"), "run", "quickstart", *settings, cwd=empty)
    assert "grpo(beta=0)" in out
    assert (empty / "runs" / "quickstart" / "suite.yaml").exists()
    listed = _run(str(venv / "bin" / "harness"), "methods", cwd=empty)
    assert "placebo" in listed
