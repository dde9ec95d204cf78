"""From a suite to its trials: rows (method stacks), seeds, and a directory name for each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence

from harness.errors import Faults, HarnessError, UsageError
from harness.host import parse_stack
from harness.host.autoload import FIRST_PARTY
from harness.suites.schema import Suite
from harness.training.config import TrialConfig

__all__ = ["canonical_stack", "rows", "slug", "trials"]

Canonical = Callable[[str], str]

_SHARED = tuple(name for name in TrialConfig.model_fields if name not in {"suite", "method", "seed", "tuned"})


def canonical_stack(plugin_files: Sequence[str] = ()) -> Canonical:
    """A function from a stack as written to its canonical spelling; it raises UsageError for unknown names."""
    from harness.host import build_stack, discover

    catalogue = discover(tuple(plugin_files))

    return lambda text: build_stack(text, catalogue).canonical


def rows(suite: Suite, canonical: Canonical) -> list[str]:
    """The stacks that a board shows: the baseline, the control rows over it, the methods; each once.

    Raises what is wrong with all of them at once, a line a stack.
    """
    baseline, *listed = _spelt([suite.baseline, *suite.methods], canonical)
    bare = {spec.name for text in listed for spec in parse_stack(text)}
    controls = [_control(suite.baseline, name, canonical) for name in suite.honesty if name not in bare]
    return list(dict.fromkeys([baseline, *listed, *controls]))


def _spelt(stacks: Sequence[str], canonical: Canonical) -> list[str]:
    """The canonical spellings; the faults of all stacks together where there are any."""
    found: list[str] = []
    faults: list[HarnessError] = []
    for text in stacks:
        try:
            found.append(canonical(text))
        except HarnessError as error:
            faults.append(error)
    if faults:
        raise Faults.of(faults)
    return found


def _control(baseline: str, name: str, canonical: Canonical) -> str:
    """A control row: the harness's own plugin of that name, whatever else is installed under it."""
    try:
        return canonical(f"{baseline}+{name}")
    except UsageError:
        return canonical(f"{baseline}+{name}@{FIRST_PARTY}")


def trials(suite: Suite, canonical: Canonical | None = None, *, controls: bool = True) -> list[TrialConfig]:
    """Every (row, seed), seed by seed, so that a run that is cut short has compared all methods on the first seeds.

    `controls=False`: the methods as they stand, for a suite read from its run directory, where all rows are listed.
    """
    stacks = rows(suite, canonical or canonical_stack(suite.plugins)) if controls else list(suite.methods)
    shared = {name: getattr(suite, name) for name in _SHARED}
    return [
        TrialConfig(suite=suite.name, method=stack, seed=seed, **shared) for seed in suite.seeds for stack in stacks
    ]


def slug(stack: str) -> str:
    """A directory name for a canonical stack: readable, safe on every file system, and unique.

    Whatever had to be changed (parentheses, upper case, great length) adds eight digits of the stack's hash.
    """
    text = re.sub(r"[^a-z0-9.+_-]+", "_", stack.lower()).strip("._-")[:80].rstrip("._-")
    if text and text == stack:
        return text
    return f"{text or 'stack'}-{hashlib.sha256(stack.encode()).hexdigest()[:8]}"
