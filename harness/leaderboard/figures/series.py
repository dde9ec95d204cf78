"""Scores and training metrics against the budget, one line a method with its band over seeds."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.leaderboard import statistics
from harness.leaderboard.matrix import curve
from harness.leaderboard.model import Board
from harness.leaderboard.trials import FAILURES, Trial

__all__ = ["LEAST_BAND", "TOKENS", "Band", "metric_band", "reduced_curve", "score_band", "trial_series"]

Array = NDArray[np.float64]

LEAST_BAND = 3  # seeds: a t-interval of two says nothing and hides the rest
MOST_BINS = 40
READ = (
    "progress", "tokens", "tokens_trained", "reward", "correct", "entropy", "surprisal", "kl_reference", "clip_share",
    "length", "zero_variance", "grad_norm",
)  # fmt: skip
TOKENS = {"generated": "tokens", "trained": "tokens_trained"}  # -> the metric that counts them, a step at a time


@dataclass(frozen=True)
class Band:
    """A line [E] and its ends; the ends are NaN below three seeds."""

    x: Array
    mean: Array
    low: Array
    high: Array
    n: int

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not np.isfinite(self.mean).any()


NOTHING = Band(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0), n=0)


def summarised(x: Array, values: Array) -> Band:
    """The mean over trials [S, E] with its 95 % t-interval."""
    mean, low, high = statistics.t_limits(values.T)
    n = len(values)
    if n < LEAST_BAND:
        low = high = np.full(mean.shape, np.nan)
    return Band(x, mean, low, high, n)


def reduced_curve(board: Board, trial: Trial) -> tuple[Array, Array]:
    """Progress [E] and the measure reduced over tasks [E]."""
    progress, values = curve(trial, board.metric, board.matrix.tasks)
    return progress, statistics.per_seed(values, board.matrix.reduce)


def score_band(board: Board, method: str, against: str = "share") -> Band:
    """A method's score against its budget: the share spent, or tokens 'generated' or 'trained'.

    Trials are read at the places of the fullest one; one that failed goes on at what it scores. For tokens each place
    stands where the method's trials have come by then, on average.
    """
    trials = [trial for trial in board.matrix.of(method) if trial.ended and trial.evaluations]
    if not trials:
        return NOTHING
    measured = [reduced_curve(board, trial) for trial in trials]
    grid = max((progress for progress, _ in measured), key=len)
    values = [
        np.interp(grid, progress, scores, right=level_after(board, trial, float(scores[-1])))
        for (progress, scores), trial in zip(measured, trials, strict=True)
    ]
    x = grid if against == "share" else tokens_at(grid, trials, TOKENS[against])
    return NOTHING if x is None else summarised(x, np.stack(values))


def level_after(board: Board, trial: Trial, last: float) -> float:
    """What a trial scores after its last evaluation: a failed one by the rules, else the same."""
    if trial.status not in FAILURES:
        return last
    matrix = board.matrix
    end = matrix.end[matrix.row(trial.method), matrix.seeds.index(trial.seed)]
    return float(statistics.per_seed(end, matrix.reduce))


def tokens_at(grid: Array, trials: Sequence[Trial], name: str) -> Array | None:
    """Mean tokens counted by each share of the budget, over the trials that came so far; None where none counts."""
    counted = []
    for trial in trials:
        progress, amounts = trial_series(trial, name)
        if progress.size:
            x, y = np.concatenate([[0.0], progress]), np.concatenate([[0.0], np.cumsum(amounts)])
            counted.append(np.interp(grid, x, y, right=np.nan if trial.status in FAILURES else y[-1]))
    if not counted:
        return None
    longest = np.fmax.reduce(counted) if len(counted) > 1 else counted[0]
    mean = statistics.moments(np.stack(counted).T)[1]
    return np.asarray(np.where(np.isnan(mean), longest, mean))


_TABLES: dict[int, tuple[weakref.ref[Trial], dict[str, Array]]] = {}


def training_table(trial: Trial) -> dict[str, Array]:
    """The metrics that figures show, each [T] with NaN where a step did not log it; read once in a trial's life."""
    place = id(trial)  # a trial holds dictionaries, so it has no hash
    known = _TABLES.get(place)
    if known is None or known[0]() is not trial:
        records = trial.metrics
        table = {name: np.array([as_float(record.get(name)) for record in records], dtype=float) for name in READ}
        known = weakref.ref(trial, lambda _: _TABLES.pop(place, None)), table
        _TABLES[place] = known
    return known[1]


def as_float(value: object) -> float:
    """A number, or NaN for anything else."""
    return float(value) if isinstance(value, (int, float)) else float("nan")


def trial_series(trial: Trial, name: str) -> tuple[Array, Array]:
    """Progress [T] and a metric [T] of the steps that logged it as a finite number."""
    table = training_table(trial)
    keep = np.isfinite(table["progress"]) & np.isfinite(table[name])
    return table["progress"][keep], table[name][keep]


def metric_band(trials: Sequence[Trial], name: str) -> Band:
    """A training metric against the share of the budget, averaged within bins; a trial counts as far as it came."""
    series = [(x, y) for x, y in (trial_series(trial, name) for trial in trials) if x.size]
    if not series:
        return NOTHING
    count = int(np.clip(np.median([x.size for x, _ in series]), 1, MOST_BINS))
    edges = np.linspace(0.0, max(1.0, *(float(x[-1]) for x, _ in series)), count + 1)
    centres = (edges[1:] + edges[:-1]) / 2
    rows = [binned(x, y, edges, centres) for x, y in series]
    band = summarised(centres, np.stack(rows))
    return Band(band.x, band.mean, band.low, band.high, len(series))


def binned(x: Array, y: Array, edges: Array, centres: Array) -> Array:
    """Means within bins; empty ones in between are interpolated, those after the last step are NaN."""
    place = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(centres) - 1)
    number = np.bincount(place, minlength=len(centres))
    total = np.bincount(place, weights=y, minlength=len(centres))
    there = number > 0
    means = total[there] / number[there]
    return np.asarray(np.interp(centres, centres[there], means, right=np.nan))
