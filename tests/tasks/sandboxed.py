"""Running one function body in a sandbox, and what lives on this machine."""

import contextlib
import textwrap
from pathlib import Path

from harness.tasks.sandbox import Job

LIMIT = 0.25  # seconds that a program may take


def program(body):
    return "def f(x):\n" + textwrap.indent(textwrap.dedent(body), "    ")


def outcome(box, body, *, value=1):
    return box.run([Job(program(body), [[value]])])[0]


def value(box, body):
    result = outcome(box, body)
    assert result.error is None, result
    return result.values[0]


def processes():
    """Of every process that has not ended: id -> parent's id."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if state != "Z":
                    found[int(entry.name)] = int(parent)
    return found


def descendants(pid):
    parents, found = processes(), {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def alive(pids):
    return sorted(pids & processes().keys())
