"""A stranger's project, as `harness new` writes it: its wheel is built, installed, listed, checked and compared."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from harness.templates import KINDS, new_project

SMALL = [
    "--budget", "60k", "--seeds", "1", "--set", "evaluation.problems=10", "--set", "evaluation.samples=1",
    "--no-tracking",
]  # fmt: skip


def _run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [str(part) for part in command], check=False, cwd=cwd, capture_output=True, text=True, timeout=600,
        env=os.environ | {"PYTHONPATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of a fresh environment that has our dependencies, the harness, and the four built wheels."""
    folder = tmp_path_factory.mktemp("third-party")
    venv, wheels = folder / "venv", folder / "wheels"
    _run(sys.executable, "-m", "venv", venv, cwd=folder)
    python = venv / "bin" / "python"
    site = Path(_run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    # `addsite` also follows the .pth files of that folder, among them the one of an editable installation.
    (site / "dependencies.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    for kind in KINDS:
        new_project(f"their-{kind}", kind, folder)
        project = folder / f"their-{kind}"
        build = ["-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
        _run(sys.executable, *build, "-w", wheels, project, cwd=folder)
    found = sorted(wheels.glob("harness_their_*.whl"))
    assert len(found) == len(KINDS)
    _run(python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", *found, cwd=folder)
    return venv / "bin"


@pytest.mark.slow
def test_it_is_listed_with_its_distribution(environment: Path, tmp_path: Path) -> None:
    listed = _run(environment / "python", "-m", "harness", "methods", cwd=tmp_path)
    assert {"their-method", "their-wrapper", "their-reward"} <= {
        line.split()[0] for line in listed.splitlines() if line
    }
    page = _run(environment / "python", "-m", "harness", "methods", "their-method", cwd=tmp_path)
    assert "harness-their-method 0.1.0" in page


@pytest.mark.slow
@pytest.mark.parametrize("name", ["their-method", "their-wrapper", "their-reward", "harness-their-method"])
def test_it_passes_the_checks(name: str, environment: Path, tmp_path: Path) -> None:
    _run(environment / "python", "-m", "harness", "check", name, cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_its_own_tests_pass(kind: str, environment: Path) -> None:
    project = environment.parents[1] / f"their-{kind}"
    out = _run(environment / "python", "-m", "pytest", "-q", "-p", "no:randomly", cwd=project)
    assert " passed" in out


@pytest.mark.slow
def test_it_is_compared_with_grpo(environment: Path, tmp_path: Path) -> None:
    methods = "their-method,their-method(share=1)+f-grpo,grpo(beta=0)+their-wrapper,gdpo+their-reward"
    harness = (environment / "python", "-m", "harness")
    _run(*harness, "run", "quickstart", "--methods", methods, *SMALL, cwd=tmp_path)
    out = _run(*harness, "leaderboard", "quickstart", "--format", "csv", cwd=tmp_path)
    for stack in (*methods.split(","), "grpo(beta=0)"):
        assert stack in out


@pytest.mark.slow
def test_its_task_is_trained_and_evaluated(environment: Path, tmp_path: Path) -> None:
    suite = environment.parents[1] / "their-task" / "suite.yaml"
    out = _run(environment / "python", "-m", "harness", "run", suite, "--methods", "dr-grpo", *SMALL, cwd=tmp_path)
    assert "dr-grpo" in out
    assert (tmp_path / "runs" / "their-task" / "suite.yaml").exists()
