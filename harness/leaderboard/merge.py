"""Several run directories as one: what a colleague ran elsewhere under the same suite and rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.leaderboard import tuning
from harness.leaderboard.checks import same_curves
from harness.leaderboard.trials import Trial, read_suite, read_trials

__all__ = ["merged"]

# what may differ: it adds trials or decides when one is given up, never a number
FREE = {"methods", "method", "seeds", "seed", "question", "baseline", "honesty", "limits", "checkpoint_seconds",
        "plugins", "sandbox", "resources"}  # fmt: skip
SHOWN = 2  # differences that a refusal names


@dataclass(frozen=True)
class Part:
    """One directory of runs."""

    path: Path
    trials: Sequence[Trial]
    suite: dict[str, Any]

    def of_trials(self, name: str) -> str:
        """What the trials recorded under a name, as text; '' where they did not."""
        found = sorted({str(trial.record[name]) for trial in self.trials if trial.record.get(name)})
        return ", ".join(found)


def merged(directories: Sequence[Path]) -> tuple[list[Trial], dict[str, Any]]:
    """The trials of all directories and their common suite.

    Raises UsageError where suite, rules, settings, tuning, training semantics, data or initial weights differ, or one
    method and seed has two different results.
    """
    parts = [Part(path, read_trials(path), read_suite(path)) for path in directories]
    first = parts[0]
    for other in parts[1:]:
        refuse_differences(first, other)
    if len(parts) == 1:
        return list(first.trials), first.suite
    trials: dict[tuple[str, int], Trial] = {}
    for trial in (trial for part in parts for trial in part.trials):
        place = trial.method, trial.seed
        trials[place] = one_of(trials[place], trial) if place in trials else trial
    return [trials[place] for place in sorted(trials)], united(parts)


def united(parts: Sequence[Part]) -> dict[str, Any]:
    """The first suite with the methods, seeds and plugin files of all."""
    known = [part.suite for part in parts if part.suite]
    if not known:
        return {}
    together = {
        name: list(dict.fromkeys(value for suite in known for value in listed(suite.get(name))))
        for name in ("methods", "seeds", "plugins")
        if any(name in suite for suite in known)
    }
    return {**known[0], **together}


def listed(value: Any) -> list[Any]:
    """A suite's list; a number of seeds counts from 0."""
    return list(range(value)) if isinstance(value, int) else list(value or [])


def one_of(there: Trial, here: Trial) -> Trial:
    """Of two trials of a method and seed the one that counts: equal results are one, an ended one wins.

    Raises UsageError for two different results.
    """
    if not here.ended or not there.ended:
        return there if there.ended else here
    if same_curves(there, here):
        return there
    raise UsageError(
        f"{here.method} seed {here.seed} has two different results: {there.path} and {here.path}; leave one of them out"
    )


def refuse_differences(first: Part, other: Part) -> None:
    """Raise UsageError that names what keeps two directories apart."""
    differences = [*of_boards(first, other), *of_settings(first, other), *of_plugins(first, other)]
    if differences:
        more = f" (and {len(differences) - SHOWN} more)" if len(differences) > SHOWN else ""
        raise UsageError(f"{first.path} and {other.path} cannot share a board: {'; '.join(differences[:SHOWN])}{more}")


def of_boards(first: Part, other: Part) -> list[str]:
    """Suite, rules, track, and what the trials say of code, data and weights."""
    pairs = {
        "suite": (suite_name(first), suite_name(other)),
        "rules": (rules(first), rules(other)),
        "hyper-parameters": (track(first), track(other)),
        "training semantics": (first.of_trials("semantics"), other.of_trials("semantics")),
    }
    found = [
        f"{what}: {one} there and {two} here"
        for what, (one, two) in pairs.items()
        if one != two and not (what == "training semantics" and not (one and two))  # older runs do not tell
    ]
    one, two = first.of_trials("digests"), other.of_trials("digests")
    return [*found, *(["data or initial weights: their digests differ"] if one and two and one != two else [])]


def suite_name(part: Part) -> str:
    """The name of the suite that ran."""
    return str(part.suite.get("name") or part.trials[0].config.get("suite") or part.path.name)


def rules(part: Part) -> str:
    """The rules versions of its trials."""
    return ", ".join(sorted({str(trial.config.get("rules", 1)) for trial in part.trials}))


def track(part: Part) -> str:
    """The tuning tracks of its trials."""
    return " and ".join(sorted({tuning.of_row(part.suite, [trial]).track for trial in part.trials}))


def of_settings(first: Part, other: Part) -> list[str]:
    """Settings that differ, of both suites or, where one has no file, of the trials."""
    there, here = (
        [first.suite, other.suite]
        if first.suite and other.suite
        else [part.trials[0].config for part in (first, other)]
    )
    one, two = flat(there), flat(here)
    told_apart = {"name", "suite", "rules", "tuning", *(f"tuning.{known}" for known in ("trials", *tuning.COST))}
    if first.of_trials("digests") and other.of_trials("digests"):
        told_apart.add("policy.model")  # the same weights may lie elsewhere
    return [
        f"{name} is {one.get(name)!r} there and {two.get(name)!r} here"
        for name in dict.fromkeys([*one, *two])
        if name.split(".")[0] not in FREE and name not in told_apart and differ(one.get(name), two.get(name))
    ]


def of_plugins(first: Part, other: Part) -> list[str]:
    """Methods that both ran, but not from the same sources."""
    one, two = sources(first), sources(other)
    return [
        f"the plugins of {method} have other sources" for method in one if two.get(method, one[method]) != one[method]
    ]


def sources(part: Part) -> dict[str, list[str]]:
    """Method -> digests of its plugins' sources, where they were recorded."""
    found = {trial.method: [str(plugin.get("digest")) for plugin in trial.plugins] for trial in part.trials}
    return {method: digests for method, digests in found.items() if digests}


def differ(one: Any, two: Any) -> bool:
    """Whether two settings differ; one that a file does not have is younger than it, and as if it did nothing."""
    if one is None or two is None:
        return bool(one) or bool(two)
    return bool(one != two)


def flat(data: Any, stem: str = "") -> dict[str, Any]:
    """Nested mappings as dotted keys."""
    if not isinstance(data, Mapping):
        return {stem: data}
    return {key: value for name in data for key, value in flat(data[name], f"{stem}.{name}" if stem else name).items()}
