"""`harness new`: every template becomes a project under the new name, and works as it is."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.probe import advantages
from harness.templates import KINDS, new_project

ROOT = Path(__file__).parents[1]


def _method(tmp_path: Path, where: str) -> Path:
    """The template's module, or the README's 20 lines saved as a file."""
    if where == "template":
        return next(file for file in new_project("best-first", "method", tmp_path) if file.name == "best_first.py")
    (source,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    path = tmp_path / "readme_method.py"
    path.write_text(source)
    return path


@pytest.mark.parametrize("where", ["template", "readme"])
def test_best_completion_gets_more(where: str, tmp_path: Path) -> None:
    path = _method(tmp_path, where)
    values = advantages(str(path), rewards=[[1.0], [0.0], [0.0], [0.0]], group=[0, 0, 0, 0])
    assert values.tolist() == [0.75, -0.25, -0.25, -0.25]
    assert advantages(str(path), rewards=[[1.0], [1.0]], group=[0, 0]).tolist() == [0.0, 0.0]


def test_readme_method_is_short(tmp_path: Path) -> None:
    assert len(_method(tmp_path, "readme").read_text().splitlines()) <= 20


@pytest.mark.parametrize("kind", KINDS)
def test_a_project_carries_its_own_name_everywhere(kind: str, tmp_path: Path) -> None:
    files = new_project("soft-landing", kind, tmp_path)
    assert {"pyproject.toml", "README.md", "soft_landing.py", "test_soft_landing.py"} <= {file.name for file in files}
    for file in files:
        assert not re.search(r"my[-_ ]?(method|wrapper|reward|task)", file.read_text(), flags=re.IGNORECASE), file
    project = tomllib.loads((tmp_path / "soft-landing" / "pyproject.toml").read_text())
    group = "harness.tasks" if kind == "task" else "harness.methods"
    assert project["project"]["entry-points"][group] == {"soft-landing": "soft_landing:SoftLanding"}
    source = (tmp_path / "soft-landing" / "soft_landing.py").read_text()
    assert any(isinstance(node, ast.ClassDef) and node.name == "SoftLanding" for node in ast.parse(source).body)


def test_the_test_of_a_project_is_three_lines(tmp_path: Path) -> None:
    files = {file.name: file.read_text() for file in new_project("soft-landing", "method", tmp_path)}
    lines = [line for line in files["test_soft_landing.py"].splitlines() if line]
    assert len(lines) <= 3
    assert 15 <= len(files["soft_landing.py"].splitlines()) <= 40


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("Best", "method", "lower-case words joined by hyphens"),
        ("2fast", "method", "lower-case words joined by hyphens"),
        ("class", "method", "lower-case words joined by hyphens"),
        ("torch", "method", "would hide another"),
        ("statistics", "reward", "would hide another"),
        ("grpo", "wrapper", "is installed; choose another name"),
        ("math", "task", "a task named 'math' is installed"),
        ("fine", "metod", "Did you mean 'method'?"),
    ],
)
def test_what_cannot_be_is_said(name: str, kind: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        new_project(name, kind, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "soft-landing").mkdir()
    with pytest.raises(UsageError, match="exists already"):
        new_project("soft-landing", "method", tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_comments_of_a_readme_stand_on_lines_of_their_own(kind: str, tmp_path: Path) -> None:
    """Behind a command their column would move with the length of the project's name."""
    new_project("a-name-much-longer-than-any-of-the-templates", kind, tmp_path)
    readme = tmp_path / "a-name-much-longer-than-any-of-the-templates" / "README.md"
    commands = [line for line in readme.read_text().splitlines() if line.startswith("    ")]
    assert [line for line in commands if " # " in line[5:]] == []
    assert any(line.startswith("    # ") for line in commands)


def test_the_task_says_what_its_prompts_look_like(tmp_path: Path) -> None:
    new_project("soft-landing", "task", tmp_path)
    source = (tmp_path / "soft-landing" / "soft_landing.py").read_text()
    told, asked = re.search(r"The prompt `(\d+=)` asks for `(\d+)`", source.splitlines()[0]).groups()
    module: dict[str, object] = {"__name__": "soft_landing"}
    exec(compile(source, "soft_landing.py", "exec"), module)
    problem = module["SoftLanding"]().problems("train", 1)[0]
    assert re.fullmatch(r"\d+=", problem.prompt)
    assert problem.answer == "".join(sorted(problem.prompt[:-1]))
    assert asked == "".join(sorted(told[:-1]))
