"""What is generated from the method classes is up to date."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_entry_points_and_the_readme_table_follow_from_the_classes() -> None:
    done = subprocess.run(
        [sys.executable, "tools/catalogue.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
