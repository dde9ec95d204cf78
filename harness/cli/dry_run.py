"""What `harness run SUITE --dry-run` says under the resolved suite: what would run, and what it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.suites.run import Plan

__all__ = ["summary"]

SHOWN = 6  # seeds that are listed before they are only counted


def summary(planned: Plan, asked: str, at_once: int, place: str) -> list[str]:
    """Rows and seeds, budget, where runs go, what has run already, and how long the rest takes where that is known.

    `asked` is the suite as it was named, `place` is where trials run, `at_once` how many together.
    """
    from harness.suites.status import status_of, time_left
    from harness.suites.tune import cost, short

    suite, trials = planned.suite, planned.trials
    budget, currency = suite.budget.limit, suite.budget.currency
    states = [status_of(trial, planned.store) for trial in trials]
    ended = sum(state.ended for state in states)
    left = time_left(states, at_once)
    part, parts = planned.shard
    lines = [
        f"{suite.name}: {len(planned.stacks)} rows x {counted(suite.seeds)} = {len(planned.stacks) * len(suite.seeds)}"
        f" trials" + (f", of which part {part} of {parts} has {len(trials)}" if parts > 1 else ""),
        f"rows: {', '.join(planned.stacks)}",
        f"budget: {budget:,.0f} {currency} a trial, {short(budget * len(trials))} in all",
        f"runs go to {planned.store.path}" + (f"; {ended} of {len(trials)} trials have ended there" if ended else ""),
    ]
    if planned.searches:
        lines.append(cost(planned))
    if ended == len(trials) and not planned.searches:
        lines.append("time: none, all of it has run; `harness leaderboard` shows it")
    elif left is None or planned.searches:
        lines.append(f"time: not known yet; `harness estimate {asked}` measures two steps and tells")
    else:
        lines.append(f"time: about {duration(left)} {place}, {at_once} at a time, at the pace of the trials there")
    return lines


def counted(seeds: Sequence[int]) -> str:
    """'5 seeds (0 to 4)', '2 seeds (1, 3)'."""
    number = f"{len(seeds)} seed{'s' * (len(seeds) != 1)}"
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{number} ({seeds[0]} to {seeds[-1]})"
    more = ", ..." if len(seeds) > SHOWN else ""
    return f"{number} ({', '.join(map(str, seeds[:SHOWN]))}{more})"


def duration(seconds: float) -> str:
    """'40 s', '12 min', '3.4 h'."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
