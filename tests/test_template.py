"""The plugin template works as it is copied, and the README's method is the same one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.probe import advantages

ROOT = Path(__file__).parents[1]
TEMPLATE = ROOT / "plugins" / "template" / "my_method.py"


def _readme_method(tmp_path: Path) -> Path:
    """The README's 20 lines, saved as a file."""
    (source,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    path = tmp_path / "readme_method.py"
    path.write_text(source)
    return path


@pytest.mark.parametrize("where", ["template", "readme"])
def test_best_completion_gets_more(where: str, tmp_path: Path) -> None:
    path = TEMPLATE if where == "template" else _readme_method(tmp_path)
    values = advantages(str(path), rewards=[[1.0], [0.0], [0.0], [0.0]], group=[0, 0, 0, 0])
    assert values.tolist() == [0.75, -0.25, -0.25, -0.25]
    assert advantages(str(path), rewards=[[1.0], [1.0]], group=[0, 0]).tolist() == [0.0, 0.0]


def test_readme_method_is_short(tmp_path: Path) -> None:
    assert len(_readme_method(tmp_path).read_text().splitlines()) <= 20
