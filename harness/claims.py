"""What papers claim of their methods, as small checks that anyone can run.

A claim is a function without arguments that computes something (with `harness.probe`, `harness.lab` or plain tensors)
and says whether it shows what the paper says:

    @claim("gdpo", "Completions that differ in one reward keep distinct advantages where GRPO's collapse.")
    def distinct() -> Evidence:
        ...
        return Evidence(shown=ours > theirs, numbers={"distinct under gdpo": ours, "under grpo": theirs})

A claim that does not show is reported as such; it is never tuned until it does. Modules with claims are found through
the entry-point group `harness.claims`; a plugin file may hold its own.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points

from harness.errors import PluginError, UsageError, nearest

__all__ = ["GROUP", "Claim", "Evidence", "claim", "claims", "report"]

GROUP = "harness.claims"


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What a check found: whether the claim shows, the numbers that say so, and what they are of."""

    shown: bool
    numbers: Mapping[str, float]
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Claim:
    """A sentence about a method, and the check of it."""

    method: str
    says: str
    check: Callable[[], Evidence]

    def evidence(self) -> Evidence:
        """Run the check. Raises PluginError naming method and claim where it fails to run or gives no Evidence."""
        try:
            found = self.check()
        except Exception as error:
            raise PluginError(f"claim of {self.method!r} ({self.says}): {type(error).__name__}: {error}") from error
        if not isinstance(found, Evidence):
            raise PluginError(f"claim of {self.method!r} ({self.says}): the check must return Evidence, not {found!r}")
        return found


_known: dict[tuple[str, str], Claim] = {}


def claim(method: str, says: str) -> Callable[[Callable[[], Evidence]], Callable[[], Evidence]]:
    """Register a check of what is claimed of a method (its slug); `says` is one sentence."""

    def register(check: Callable[[], Evidence]) -> Callable[[], Evidence]:
        _known[method, says] = Claim(method, says, check)
        return check

    return register


def claims(methods: Sequence[str] = ()) -> list[Claim]:
    """The claims of the named methods, or all, by method. Imports the modules that hold them.

    Raises UsageError for a method of which nothing is claimed.
    """
    for point in entry_points(group=GROUP):
        module = point.load()
        for found in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{module.__name__}."):
            importlib.import_module(found.name)
    about = {method for method, _ in _known}
    for method in methods:
        if method not in about:
            raise UsageError(f"no claim of {method!r} is checked.{nearest(method, about)} `harness claims` runs all.")
    chosen = [found for found in _known.values() if not methods or found.method in methods]
    return sorted(chosen, key=lambda found: (found.method, found.says))


def report(found: Sequence[tuple[Claim, Evidence]]) -> str:
    """Markdown: a line a claim, with its numbers."""
    lines = ["| method | claim | shows | evidence |", "|---|---|---|---|"]
    for one, evidence in found:
        numbers = "; ".join(f"{name} {value:.4g}" for name, value in evidence.numbers.items())
        said = ". ".join(part for part in (numbers, evidence.note) if part).replace("|", "\\|")
        says = one.says.replace("|", "\\|")
        lines.append(f"| `{one.method}` | {says} | {'yes' if evidence.shown else 'NO'} | {said} |")
    return "\n".join(lines) + "\n"
