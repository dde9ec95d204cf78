"""Collect a suite's run into results/SUITE: the exported board with its raw data, and the training metrics.

The board of the folder can be made again with `harness leaderboard results/SUITE`, its pages with `--export FOLDER`:
they embed every figure, so they are not kept here.

python results/collect.py tiny [--out runs]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd


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
    records = []
    for config in sorted(runs.glob("*/seed-*/config.json")):
        trial = json.loads(config.read_text())
        lines = (config.parent / "metrics.jsonl").read_text().splitlines()
        records += [{"method": trial["stack"], "seed": trial["config"]["seed"], **json.loads(line)} for line in lines]
    pd.DataFrame(records).to_parquet(target / "metrics.parquet", index=False)


if __name__ == "__main__":
    main()
