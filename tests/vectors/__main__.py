"""`python -m tests.vectors [FILE] [--method SLUG] [-v] [--json]`: exit 1 if a case fails."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from harness.conformance.mapping import broken
from harness.conformance.vectors import read_cases
from harness.errors import HarnessError
from tests.vectors.report import STATUSES, Line, by_method, check, totals

DEFAULT = Path(__file__).parent / "golden.jsonl.gz"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.vectors", description=__doc__)
    parser.add_argument("file", nargs="?", default=DEFAULT, help="cases, JSON Lines, plain or gzipped")
    parser.add_argument("--method", action="append", help="only this slug (may be given several times)")
    parser.add_argument("-v", "--verbose", action="store_true", help="every case that does not pass")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    options = parser.parse_args()
    try:
        cases = read_cases(options.file)
    except HarnessError as error:
        print(error, file=sys.stderr)
        return 2
    lines = [check(case) for case in cases if not options.method or case.method in options.method]
    if options.json:
        print(json.dumps(as_json(lines), indent=1))
    else:
        print_text(lines, verbose=options.verbose)
    for module, error in broken().items():
        print(f"{module} cannot be used: {error}", file=sys.stderr)
    return 1 if totals(lines).failed or broken() else 0


def as_json(lines: list[Line]) -> dict[str, object]:
    count = totals(lines)
    return {
        "totals": {**dataclasses.asdict(count), "passing": count.passing, "aside": count.aside},
        "cases": [
            {"id": line.case.id, "method": line.case.method, "source": line.case.repo, "status": line.status,
             "stack": line.stack, "reason": line.reason}
            for line in lines
        ],
    }  # fmt: skip


def print_text(lines: list[Line], *, verbose: bool) -> None:
    print(f"{'method':<30}" + "".join(f"{status:>10}" for status in STATUSES))
    for slug, found in by_method(lines).items():
        count = totals(found)
        print(f"{slug:<30}" + "".join(f"{getattr(count, status) or '-':>10}" for status in STATUSES))
        for reason in sorted({(line.status, line.reason) for line in found if line.status in {"slip", "unmapped"}}):
            print(f"    {reason[0]}: {reason[1]}")
        for line in found if verbose else ():
            if line.status == "failed":
                print(f"    {line.case.id} ({line.case.repo}) {line.stack}: {line.reason}")
    print(totals(lines))


if __name__ == "__main__":
    sys.exit(main())
