"""The documentation works as typed: its code blocks are run, and its generated parts are up to date."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.hookspecs import HOOKS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "write-a-method.md"
BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def _run(command: list[str], folder: Path) -> str:
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=env, timeout=800)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _work_through(folder: Path, commands: set[str]) -> None:
    """Do what the page says, in its order; of the commands only those named."""
    done = set()
    for language, file, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if file:
            (folder / file).write_text(text)
        elif language == "python":
            _run([sys.executable, "-c", text], folder)
        elif language == "console":
            for line in text.splitlines():
                name = line.split()[1]
                if name in commands:
                    _run(["sh", "-c", line], folder)
                    done.add(name)
    assert done == commands


def test_writing_a_method_works_as_typed(tmp_path: Path) -> None:
    _work_through(tmp_path, {"explain", "new"})
    assert (tmp_path / "rank-by-place" / "pyproject.toml").is_file()


@pytest.mark.slow
def test_checking_and_comparing_it_works_as_typed(tmp_path: Path) -> None:
    _work_through(tmp_path, {"explain", "check", "run", "new"})


def test_every_hook_has_a_page_with_an_example() -> None:
    for hook in HOOKS:
        page = (ROOT / "docs" / "hooks" / f"{hook}.md").read_text(encoding="utf-8")
        assert f"def {hook}(" in page


def test_generated_pages_are_up_to_date() -> None:
    _run([sys.executable, "tools/pages.py", "--check"], ROOT)
