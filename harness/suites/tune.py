"""The search phase of a run: what every row searches, which search trials are missing, and what was chosen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from harness.errors import UsageError
from harness.files import read_json
from harness.suites.store import RunDirectory
from harness.tuning.search import Search, search_of

if TYPE_CHECKING:
    from harness.suites.run import Plan
    from harness.suites.schema import Suite
    from harness.training.config import TrialConfig

__all__ = ["chosen_trials", "cost", "described", "progress", "search_trials", "searches_of"]


def searches_of(suite: Suite, trials: Iterable[TrialConfig]) -> tuple[Search, ...]:
    """The search of every row that the trials have, in their order. Raises UsageError for one with an empty space."""
    from harness.host import discover

    assert suite.tuning is not None
    catalogue = discover(suite.plugins)
    first = {trial.method: trial for trial in reversed(list(trials))}
    return tuple(search_of(trial, suite.tuning, catalogue) for trial in reversed(first.values()))


def search_trials(todo: Plan) -> list[TrialConfig]:
    """Every search trial, candidate by candidate over all rows; the published values come first."""
    first = {trial.method: trial for trial in todo.trials}
    by_row = [search.trials(first[search.row]) for search in todo.searches]
    return [trial for together in zip(*by_row, strict=True) for trial in together]


def chosen_trials(todo: Plan) -> list[TrialConfig]:
    """The trials of the report with what search chose, of the rows whose search is over; writes their tuning.json.

    Raises UsageError for a trial on disk that was run with another choice.
    """
    from harness.tuning.record import Tried, found, write

    first = {trial.method: trial for trial in todo.trials}
    made: dict[tuple[str, int], TrialConfig] = {}
    for search in todo.searches:
        own = search.trials(first[search.row])
        tried = [Tried.read(trial, todo.store.trial(trial), search.tuning.metric) for trial in own]
        outcome = found(search, tried)
        if outcome is None:
            continue
        write(todo.store.row(search.row), outcome, todo.suite.budget.currency)
        for trial in todo.trials:
            if trial.method == search.row:
                made[search.row, trial.seed] = search.reported(trial, outcome.chosen, outcome.spent)
    found_trials = [made[key] for trial in todo.trials if (key := (trial.method, trial.seed)) in made]
    refuse_other_choice(todo.store, found_trials)
    return found_trials


def refuse_other_choice(store: RunDirectory, trials: Sequence[TrialConfig]) -> None:
    """Raise UsageError where a search that was run anew chose other values than the report's trials have."""
    for trial in trials:
        record = read_json(store.trial(trial) / "config.json")
        before = (record.get("config") or {}).get("tuned") if record else None
        assert trial.tuned is not None
        if before is not None and before.get("values") != trial.tuned.model_dump(mode="json")["values"]:
            raise UsageError(
                f"{store.trial(trial)} was run with other values than its search chooses now; start anew with "
                f"`harness clean {trial.suite}{store.out_option} --methods '{trial.row}'`"
            )


def progress(store: RunDirectory, suite: Suite, row: str) -> tuple[int, int]:
    """Search trials of a row that have ended, and how many there are; read from files alone."""
    assert suite.tuning is not None
    files = store.row(row).glob("tuning/trial-*/seed-*/result.json")
    ended = sum(read_json(file).get("status") not in {None, "interrupted"} for file in files)
    return ended, suite.tuning.trials * suite.tuning.seeds


def described(todo: Plan) -> list[str]:
    """What `--dry-run` says: how the search goes, and the space of every row."""
    tuning = todo.suite.tuning
    assert tuning is not None
    seeds = " to ".join(str(seed) for seed in dict.fromkeys((tuning.numbers[0], tuning.numbers[-1])))
    how = (
        f"tuning: {tuning.trials} trials a row, the published values and {tuning.trials - 1} {tuning.sampler} points, "
        f"on seed{'s' * (tuning.seeds > 1)} {seeds} and {tuning.split}, chosen by {tuning.metric}"
    )
    lines = [how]
    lines += [f"  {search.row}: {', '.join(map(str, search.space))}" for search in todo.searches]
    return [*lines, cost(todo)]


def cost(todo: Plan) -> str:
    """What the search costs beside the report."""
    searching, reported = search_trials(todo), todo.trials
    currency = todo.suite.budget.currency
    before = sum(trial.budget.limit for trial in searching)
    after = sum(trial.budget.limit for trial in reported)
    return (
        f"tuning: {len(searching)} search trials, {short(before)} {currency} at most; then {len(reported)} trials of "
        f"the report, {short(after)}: {(before + after) / after:.1f} times the cost without tuning"
    )


def short(amount: float) -> str:
    """36M, 450k."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if amount >= size:
            return f"{amount / size:.3g}{letter}"
    return f"{amount:.3g}"
