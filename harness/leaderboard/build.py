"""Building the board of a suite: one row a method, sorted by the lower end of its paired difference to the baseline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import UsageError, nearest
from harness.leaderboard import statistics
from harness.leaderboard.checks import check
from harness.leaderboard.compare import compare
from harness.leaderboard.costs import clip_share, cost
from harness.leaderboard.matrix import Matrix, Metric, matrix
from harness.leaderboard.model import CONTROLS, LEAST_SEEDS, UNTRAINED, Board, Row, role_of
from harness.leaderboard.trials import Trial, read_suite, read_trials

__all__ = ["board"]


def board(directory: Path, *, metric: str = "score", baseline: str | None = None, reduce: str = "mean") -> Board:
    """Compute the board of a suite from the directory of its trials."""
    trials, suite = read_trials(directory), read_suite(directory)
    rules = {int(trial.config.get("rules", 1)) for trial in trials}
    if len(rules) > 1:
        raise UsageError(
            f"{directory} mixes rules versions {sorted(rules)}: rows of different rules are never compared"
        )
    chosen = Metric.parse(metric, trials)
    methods, seeds = planned(trials, suite)
    scores = matrix(trials, chosen, methods, seeds, reduce)
    reference = choose_baseline(baseline, trials, suite, methods)
    comparisons = sum(role_of(method) not in CONTROLS and method != reference for method in methods)
    rows = [*(make_row(scores, method, reference) for method in methods), untrained_row(scores, reference)]
    compared = compare(scores, rows, reference, comparisons)
    ranked = sorted(compared, key=lambda row: (-row.order, -row.score.mean if row.n else math.inf, row.method))
    provisional = len(seeds) < LEAST_SEEDS or any(row.n < LEAST_SEEDS for row in ranked if row.role == "baseline")
    warnings, notes = check(scores, ranked, control_of(suite, methods, reference))
    return Board(
        suite=str(suite.get("name") or trials[0].config.get("suite") or directory.name), rules=rules.pop(),
        question=str(suite.get("question") or ""), metric=chosen, baseline=reference, rows=tuple(ranked), matrix=scores,
        comparisons=comparisons, provisional=provisional, warnings=tuple(warnings), notes=tuple(notes),
        budget={k: v for k, v in trials[0].config.get("budget", {}).items() if isinstance(v, (int, float))},
        settings=suite,
    )  # fmt: skip


def aliases(trials: Sequence[Trial]) -> dict[str, str]:
    """Every spelling of a stack that the trials know -> its canonical one."""
    return {str(trial.config.get("method")): trial.method for trial in trials} | {t.method: t.method for t in trials}


def planned(trials: Sequence[Trial], suite: dict[str, Any]) -> tuple[list[str], list[int]]:
    """The methods and seeds that the suite plans, in its order, then those that only exist as trials."""
    known = aliases(trials)
    named = [suite["baseline"]] if suite.get("baseline") else []
    listed = [known.get(str(method), str(method)) for method in [*named, *suite.get("methods", [])]]
    seeds = suite.get("seeds", [])
    numbers = list(range(seeds)) if isinstance(seeds, int) else [int(seed) for seed in seeds]
    methods = dict.fromkeys([*listed, *(trial.method for trial in trials)])
    return list(methods), sorted({*numbers, *(trial.seed for trial in trials)})


def choose_baseline(asked: str | None, trials: Sequence[Trial], suite: dict[str, Any], methods: Sequence[str]) -> str:
    """The method that the others are compared to: the one asked for, the suite's, or the first."""
    known = aliases(trials)
    wanted = asked or suite.get("baseline") or next(m for m in [*methods, *methods[:1]] if role_of(m) == "method")
    chosen = known.get(str(wanted), str(wanted))
    if chosen not in methods:
        raise UsageError(f"no method {wanted!r} to compare with.{nearest(str(wanted), methods)}")
    return chosen


def control_of(suite: dict[str, Any], methods: Sequence[str], reference: str) -> str:
    """The method that the suite's placebo wraps: its own baseline, whatever the board compares with."""
    name = str(suite.get("baseline") or reference)
    return name if name in methods else reference


def make_row(scores: Matrix, method: str, reference: str) -> Row:
    """A method's own numbers, not yet compared."""
    index, trials = scores.row(method), scores.of(method)
    ended = ~np.isnan(scores.scores[index])
    plugins = [plugin for trial in trials for plugin in trial.plugins]
    share = (
        clip_share([trial for trial in trials if trial.ended])
        if any(trial.record.get("clips") for trial in trials)
        else math.nan
    )
    return Row(
        method=method, role="baseline" if method == reference else role_of(method), expected=len(scores.seeds),
        scores=scores.scores[index], score=statistics.t_interval(scores.scores[index]),
        tasks=task_means(scores, scores.final[index][ended]), difference=None,
        area=statistics.t_interval(scores.areas[index]).mean, cost=cost(trials), inert=share == 0.0,
        experimental=any(trial.record.get("experimental") for trial in trials),
        versions=tuple(sorted({version(plugin) for plugin in plugins} - {""})),
    )  # fmt: skip


def version(plugin: dict[str, Any]) -> str:
    """'distribution version' of a recorded plugin."""
    return f"{plugin.get('distribution') or ''} {plugin.get('version') or ''}".strip()


def task_means(scores: Matrix, values: NDArray[np.float64]) -> dict[str, float]:
    """Mean over seeds [S, K] of each task."""
    return {task: float(values[:, k].mean()) if len(values) else math.nan for k, task in enumerate(scores.tasks)}


def untrained_row(scores: Matrix, reference: str) -> Row:
    """The policy before training: the first evaluation of the baseline's trials."""
    start = scores.untrained[scores.row(reference)]
    values = statistics.per_seed(start, scores.reduce)
    return Row(
        method=UNTRAINED, role=UNTRAINED, expected=len(scores.seeds), scores=values,
        score=statistics.t_interval(values), tasks=task_means(scores, start[~np.isnan(values)]), difference=None,
        area=statistics.t_interval(values).mean, cost=None,
    )  # fmt: skip
