"""Collect a suite's run into results/SUITE: the exported board with its raw data.

The board of the folder can be made again with `harness leaderboard results/SUITE`, its pages with `--export FOLDER`:
they embed every figure, so they are not kept here.

python results/collect.py tiny [--out runs]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite")
    parser.add_argument("--out", default="runs", help="where runs are kept")
    given = parser.parse_args()
    runs, target = Path(given.out) / given.suite, Path(__file__).parent / given.suite
    target.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "harness", "leaderboard", str(runs), "--export", str(target)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for page in ("leaderboard.html", "figures.html"):
        (target / page).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
