"""Building the board of a suite: one row a method, sorted by the lower end of its paired difference to the baseline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import UsageError
from harness.leaderboard import statistics
from harness.leaderboard.answers import item_error, samples_of
from harness.leaderboard.checks import check
from harness.leaderboard.compare import compare
from harness.leaderboard.costs import clip_share, cost
from harness.leaderboard.detectable import detectable
from harness.leaderboard.known import instead
from harness.leaderboard.matrix import Matrix, Metric, known_names, matrix
from harness.leaderboard.merge import merged
from harness.leaderboard.model import CONTROLS, LEAST_SEEDS, UNTRAINED, Board, Row, role_of
from harness.leaderboard.ranking import ranked
from harness.leaderboard.targets import Target, choose_target, reached
from harness.leaderboard.trials import Trial
from harness.leaderboard.tuning import DEFAULTS, Tuning, of_row

__all__ = ["board"]

REDUCTIONS = ("mean", "iqm")


def board(
    directory: Path | Sequence[Path],
    *,
    metric: str = "score",
    baseline: str | None = None,
    reduce: str = "mean",
    target: str | None = None,
) -> Board:
    """Compute the board of a suite from the directory of its trials, or from several of them, see `merge`.

    `reduce` makes a seed's tasks one number: their 'mean' or 'iqm', the interquartile mean. `target` is that of the
    budget to target, see `choose_target`.
    """
    if reduce not in REDUCTIONS:
        raise UsageError(f"--reduce {reduce}: write mean or iqm")
    directories = [directory] if isinstance(directory, Path) else list(directory)
    trials, suite = merged(directories)
    rules = {int(trial.config.get("rules", 1)) for trial in trials}
    if len(rules) > 1:
        raise UsageError(
            f"{directories[0]} mixes rules versions {sorted(rules)}: rows of different rules are never compared"
        )
    chosen = Metric.parse(metric, trials)
    methods, seeds = planned(trials, suite)
    scores = matrix(trials, chosen, methods, seeds, reduce)
    reference = choose_baseline(baseline, trials, suite, methods)
    comparisons = sum(role_of(method) not in CONTROLS and method != reference for method in methods)
    aim = choose_target(target, scores, chosen, reference)
    made = [make_row(scores, method, reference) for method in methods]
    rows = [*with_details(made, scores, chosen, aim, suite), untrained_row(scores, reference)]
    rows = with_samples(rows, scores, chosen, reference)
    compared = ranked(compare(scores, rows, reference, comparisons, chosen.claims))
    ordered = sorted(compared, key=lambda row: (-row.order, -row.score.mean if row.n else math.inf, row.method))
    provisional = len(seeds) < LEAST_SEEDS or any(row.n < LEAST_SEEDS for row in ordered if row.role == "baseline")
    warnings, notes = check(scores, ordered, control_of(suite, methods, reference))
    return Board(
        suite=str(suite.get("name") or trials[0].config.get("suite") or directories[0].name), rules=rules.pop(),
        question=str(suite.get("question") or ""), metric=chosen, baseline=reference, rows=tuple(ordered),
        matrix=scores, comparisons=comparisons, provisional=provisional, warnings=tuple(warnings), notes=tuple(notes),
        budget={k: v for k, v in trials[0].config.get("budget", {}).items() if isinstance(v, (int, float))},
        settings=suite, target=aim, detectable=detectable(ordered, reference, comparisons), tuning=one_track(ordered),
        sources=tuple(map(str, directories)) if len(directories) > 1 else (),
    )  # fmt: skip


def with_details(
    rows: Sequence[Row], scores: Matrix, metric: Metric, target: Target | None, suite: dict[str, Any]
) -> list[Row]:
    """The rows with their budget to target, evaluation error, samples and tuning."""
    made = []
    for row in rows:
        trials = scores.of(row.method)
        made.append(replace(
            row,
            reached=reached(scores, trials, target),
            evaluation_error=item_error(trials, metric, scores.tasks, scores.reduce),
            tuning=of_row(suite, trials),
        ))  # fmt: skip
    return made


def with_samples(rows: Sequence[Row], scores: Matrix, metric: Metric, reference: str) -> list[Row]:
    """The rows with avg@k, pass@k and the length of answers: like the score, of the same tasks."""
    trials = list(scores.trials.values())
    k, measures = samples_of(trials), known_names(trials)[1]
    fields = {"avg_at_k": "pass_at_1", "pass_at_k": "pass_at_k"} if k else {}
    fields |= {"length": "length"} if "length" in measures else {}
    tables = {
        field: matrix(trials, replace(metric, measure=name, area=False), scores.methods, scores.seeds, scores.reduce)
        for field, name in fields.items()
    }

    def mean(of: Matrix, row: Row) -> float:
        if row.role != UNTRAINED:
            return statistics.t_interval(of.scores[of.row(row.method)]).mean
        return statistics.t_interval(statistics.per_seed(of.untrained[of.row(reference)], of.reduce)).mean

    def detailed(row: Row) -> Row:
        found = {field: mean(of, row) for field, of in tables.items()}
        average, some, length = (found.get(field, math.nan) for field in ("avg_at_k", "pass_at_k", "length"))
        return replace(row, k=k, avg_at_k=average, pass_at_k=some, length=length)

    return [detailed(row) for row in rows]


def one_track(rows: Sequence[Row]) -> Tuning:
    """The track of the board: that of its rows. Raises UsageError where they are of several."""
    tracks = {row.tuning.trials: row.tuning for row in rows if row.cost is not None and row.n}
    if len(tracks) > 1:
        named = " and ".join(tracks[number].track for number in sorted(tracks))
        raise UsageError(f"rows of different tracks ({named}) never mix: give them boards of their own")
    return next(iter(tracks.values()), DEFAULTS)


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
    if chosen == UNTRAINED and chosen not in methods:
        raise UsageError(
            f"--baseline {UNTRAINED}: a board compares with a method that trained; its row {UNTRAINED!r} has "
            f"these scores, and `harness compare METHOD {UNTRAINED} SUITE` holds a method against them"
        )
    if chosen not in methods:
        raise UsageError(f"no method {wanted!r} to compare with.{instead(str(wanted), methods)}")
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
        unweighed=tuple(sorted({str(name) for trial in trials for name in trial.record.get("unweighed") or ()})),
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
