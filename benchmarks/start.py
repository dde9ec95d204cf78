"""How long light commands take to start, in CPU time, as multiples of starting Python with typer, in one run.

    python benchmarks/start.py

Prints a JSON line a command; exit 1 where one takes more than ten times as long.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys

REPEATS = 7
BARE = ["-c", "import typer"]
COMMANDS = {"--help": ["-m", "harness", "--help"], "methods": ["-m", "harness", "methods"]}
MOST = 10.0


def seconds(arguments: list[str]) -> float:
    """CPU seconds of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Interleaved, the fastest of each."""
    asked = {"bare": BARE, **COMMANDS}
    rounds = [[seconds(arguments) for arguments in asked.values()] for _ in range(REPEATS)]
    found = {name: min(times) for name, times in zip(asked, zip(*rounds, strict=True), strict=True)}
    ratios = {name: found[name] / found["bare"] for name in COMMANDS}
    for name, ratio in ratios.items():
        print(json.dumps({"command": name, "times python with typer": round(ratio, 2)}))
    return int(max(ratios.values()) > MOST)


if __name__ == "__main__":
    raise SystemExit(main())
