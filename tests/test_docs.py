"""The documentation works as typed: its code blocks are run, and its generated parts are up to date."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness import Groups, mathematics, method
from harness.batch import Batch, PolicyOutput
from harness.hookspecs import HOOKS
from harness.host.info import NEEDS

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


def test_every_argument_of_method_has_its_line() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## All arguments of `@method`")[2]
    listed = re.findall(r"^\| `(\w+)=", table, flags=re.MULTILINE)
    assert listed == [name for name in inspect.signature(method).parameters if name not in {"cls", "unknown"}]


def test_all_that_hooks_receive_is_said_in_words() -> None:
    page = (ROOT / "docs" / "batch.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| (.*) \|$", page, flags=re.MULTILINE)
    assert [name for name, said in rows if not said.strip()] == []
    names = {name.partition("(")[0] for name, _ in rows}
    fields = {field.name for cls in (Batch, PolicyOutput) for field in dataclasses.fields(cls)}
    assert fields | {*NEEDS} | {*mathematics.__all__} <= names
    public = {name for name in vars(Groups) if not name.startswith("_")}
    assert public <= names


def test_the_pages_of_hooks_and_of_what_they_receive_are_linked() -> None:
    for page, links in {
        "README.md": ("docs/batch.md", "docs/hooks/"),
        "docs/write-a-method.md": ("batch.md", "hooks/"),
        "docs/hooks/README.md": ("../batch.md", *(f"{hook}.md" for hook in HOOKS)),
    }.items():
        text = (ROOT / page).read_text(encoding="utf-8")
        assert all(f"]({link})" in text for link in links), page


def test_every_method_was_checked_and_passed() -> None:
    from harness.host import discover

    found = json.loads((ROOT / "docs" / "methods" / "conformance.json").read_text(encoding="utf-8"))
    ours = {slug for slug, entry in discover().items() if entry.distribution == "policy-harness"}
    assert set(found) == ours, "run `harness check policy-harness --json`, then tools/pages.py --conformance"
    assert all(said.startswith("passes") for said in found.values())
