"""What a check says, and how a report shows it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

__all__ = ["Finding", "NotApplicable", "Report", "Status", "Warned"]

Status = Literal["pass", "FAIL", "warn", "n.a."]
WIDTH = 118


class NotApplicable(Exception):  # noqa: N818 - an answer, not an error
    """The check says nothing about this method; the text says why."""


class Warned(Exception):  # noqa: N818 - an answer, not an error
    """The check holds, with something that its author should know."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """One line of a report."""

    check: str
    status: Status
    text: str
    reproduce: str = ""
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class Report:
    """All findings about one method."""

    method: str
    findings: tuple[Finding, ...]

    @property
    def failed(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.status == "FAIL")

    @property
    def seconds(self) -> float:
        return sum(finding.seconds for finding in self.findings)

    def data(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "method": self.method,
            "passed": not self.failed,
            "findings": list(map(dataclasses.asdict, self.findings)),
        }

    def render(self) -> str:
        """The table: check, result, what."""
        width = max((len(finding.check) for finding in self.findings), default=5)
        lines = [f"{self.method}", f"  {'check':<{width}}  result  what"]
        shown: dict[str, str] = {}
        for finding in self.findings:
            head = f"  {finding.check:<{width}}  {finding.status:<6}  "
            first = shown.setdefault(finding.text, finding.check)
            said = [finding.text if first == finding.check or finding.status != "FAIL" else f"as {first}"]
            said += [f"again: {finding.reproduce}"] if finding.status == "FAIL" and first == finding.check else []
            rows = [row for text in said for row in _wrapped(text, WIDTH - len(head))]
            lines += [head + rows[0], *(" " * len(head) + row for row in rows[1:])]
        return "\n".join(line.rstrip() for line in lines)

    def line(self) -> str:
        """The report in one line, for a summary of many."""
        counts = {status: sum(f.status == status for f in self.findings) for status in ("pass", "warn", "n.a.", "FAIL")}
        said = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
        failed = f": {', '.join(finding.check for finding in self.failed)}" if self.failed else ""
        return f"{'FAIL' if self.failed else 'pass'}  {self.method}  ({said}{failed}; {self.seconds:.1f} s)"


def _wrapped(text: str, width: int) -> Sequence[str]:
    import textwrap

    return textwrap.wrap(" ".join(text.split()), max(width, 40), break_long_words=False, break_on_hyphens=False) or [""]
