"""The lint step that finds methods which repeat one another, with the project's own configuration."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

ONE = '''"""One."""

import math


class One:
    """A docstring."""

    def shared(self, numbers):
        """Sums."""
        total = sum(numbers)
        square = sum(number * number for number in numbers)
        mean = total / len(numbers)
        variance = square / len(numbers) - mean * mean
        deviation = math.sqrt(max(variance, 0.0))
        scaled = [(number - mean) / (deviation + 1e-6) for number in numbers]
        largest = max(scaled, default=0.0)
        return [number - largest for number in scaled]
'''


def repeated(package):
    command = [sys.executable, "-m", "pylint", "--disable=all", "--enable=duplicate-code", str(package)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_it_finds_a_planted_duplicate(tmp_path):
    pytest.importorskip("pylint", reason="pylint comes with the lint extra")
    package = tmp_path / "planted"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "one.py").write_text(ONE)
    (package / "two.py").write_text(ONE.split("    def shared", maxsplit=1)[0].replace("One", "Two"))
    assert repeated(package).returncode == 0  # imports, docstrings and heads may look alike
    (package / "two.py").write_text(ONE.replace("One", "Two").replace("def shared", "def copied"))
    found = repeated(package)
    assert found.returncode
    assert "Similar lines in 2 files" in found.stdout
