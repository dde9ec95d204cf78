"""Run every claim and write what was found into docs/claims.md.

    python tools/claims.py           write
    python tools/claims.py --check   exit 1 if claims were added, taken out, or came out differently

The check compares methods, claims and whether they show, not numbers, which differ in the last digits by machine.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
from pathlib import Path

from harness.claims import Claim, Evidence, claims, report
from harness.runtime import single_threaded

PAGE = Path(__file__).parents[1] / "docs" / "claims.md"
TABLE = re.compile(r"(?<=<!-- claims -->\n).*?(?=<!-- end of claims -->)", re.DOTALL)
NOTHING = 1e-12  # what rounding leaves of 0


def found() -> list[tuple[Claim, Evidence]]:
    """Every claim with its evidence; what is 0 but for rounding is 0."""
    return [(one, _rounded(one.evidence())) for one in claims()]


def _rounded(evidence: Evidence) -> Evidence:
    numbers = {name: 0.0 if abs(value) < NOTHING else value for name, value in evidence.numbers.items()}
    return dataclasses.replace(evidence, numbers=numbers)


def table(results: list[tuple[Claim, Evidence]]) -> str:
    """The page's table and its count."""
    shown = sum(evidence.shown for _, evidence in results)
    return f"\n{report(results)}\n{shown} of {len(results)} claims show.\n\n"


def written(page: str) -> str:
    """The table that the page has. Exits with 1 if its place is gone."""
    place = TABLE.search(page)
    return place[0] if place else sys.exit("docs/claims.md has lost its <!-- claims --> comments")


def without_numbers(text: str) -> list[str]:
    """The lines of a table, less their last column."""
    return [line.rsplit(" | ", 1)[0] for line in text.splitlines() if line.startswith("| `")]


def main() -> None:
    """Write the page, or say that it is out of date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    single_threaded()
    page = PAGE.read_text(encoding="utf-8")
    fresh = table(found())
    if not check:
        PAGE.write_text(TABLE.sub(lambda _: fresh, page, count=1), encoding="utf-8")
    elif without_numbers(written(page)) != without_numbers(fresh):
        sys.exit("docs/claims.md is out of date; run python tools/claims.py")


if __name__ == "__main__":
    main()
