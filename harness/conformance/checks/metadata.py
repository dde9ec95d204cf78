"""What a method says of itself: name, source, idea, hooks, parameters, needs."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from harness.conformance.results import Warned
from harness.conformance.subject import EXEMPTIBLE
from harness.errors import CheckFailed
from harness.host import needs_of
from harness.host.lint import implementations

if TYPE_CHECKING:
    from harness.conformance.bench import Bench
    from harness.host import MethodInfo

SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
SOURCE = re.compile(r"\d{4}\.\d{4,5}|10\.\d{4,}/|[Ss]ource:|https?://")
IDEA = 20  # characters


def check(bench: Bench) -> str:
    """Faults of what is declared fail; what a reader would miss is a warning."""
    seat = bench.subject.seat
    info, plugin = seat.info, seat.plugin
    if not SLUG.fullmatch(seat.entry.slug):
        raise CheckFailed(f"the name {seat.entry.slug!r} is not of lower-case words joined by hyphens")
    idea = info.doc.splitlines()[0] if info.doc else ""
    if not idea:
        raise CheckFailed(f"{type(plugin).__name__} needs a docstring whose first line says the idea")
    if len(idea) < IDEA:
        short = f"of {len(idea)} characters is too short: say the idea in a sentence of at least {IDEA}"
        raise CheckFailed(f"{type(plugin).__name__}: the docstring's first line {idea!r} {short}")
    if not info.hooks:
        raise CheckFailed(f"{type(plugin).__name__} implements no hook")
    _check_declared(bench, info)
    _check_exempt(info)
    needs = needs_of(plugin)
    missing = _missing(info, plugin)
    if missing:
        raise Warned("; ".join(missing))
    said = f"{len(info.hooks)} hooks, {len(dataclasses.fields(plugin))} parameters"
    return f"{said}, needs {', '.join(sorted(needs))}" if needs else said


def _check_declared(bench: Bench, info: MethodInfo) -> None:
    """The hooks that the source shows are those that the class implements: `harness methods` reads the source."""
    seat = bench.subject.seat
    card = seat.entry.card
    declared = dict(card.hooks) if card is not None else dict(info.hooks)
    actual = implementations(type(seat.plugin))
    if declared != actual:
        odd = sorted(set(declared.items()) ^ set(actual.items()))
        raise CheckFailed(f"source and class disagree about the hooks {', '.join(dict.fromkeys(n for n, _ in odd))}")


def _check_exempt(info: MethodInfo) -> None:
    for name in info.claims.exempt:
        if name not in EXEMPTIBLE:
            raise CheckFailed(f"exempt names {name!r}; only {', '.join(EXEMPTIBLE)} may be exempted")


def _missing(info: MethodInfo, plugin: object) -> list[str]:
    """What a reader of the docstring would look for in vain."""
    found = []
    if not info.paper and not SOURCE.search(info.doc) and not info.claims.identity:
        found.append("neither a paper nor a source is stated")
    unexplained = [
        field.name
        for field in dataclasses.fields(plugin)  # type: ignore[arg-type]
        if not re.search(rf"\b{re.escape(field.name)}\b", info.doc)
    ]
    if unexplained:
        found.append(f"the docstring does not mention {', '.join(unexplained)}")
    if "dge case" not in info.doc and not info.claims.identity:
        found.append("the docstring says nothing about edge cases")
    return found
