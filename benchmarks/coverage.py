"""How often the board's intervals hold what they say, and how often it claims what is not so: a simulation.

Every number comes from the functions that make boards (`harness.leaderboard.statistics`), on seeds whose truth is
known. Gaussian seeds; two beta distributions, one nearly symmetric and one crowded below its ceiling; and Gaussian
seeds of which one in ten collapses. One core, a few minutes.

    python benchmarks/coverage.py [--small] [--write docs/statistics.md]
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from harness.leaderboard import statistics as st

Array = NDArray[np.float64]
Generator = np.random.Generator

LEVEL = 0.95
SEEDS = (5, 10)
METHODS = 10  # compared with GRPO, which is one more row
SHARED = 0.5  # correlation of two methods' scores at one seed: common random numbers
MEAN, SPREAD = 0.4, 0.03  # Gaussian seeds
BETAS = {"beta(8, 12)": (8, 12), "beta(18, 2)": (18, 2)}
COLLAPSING = 0.1
DROPS = (3, 6, 10)  # spreads that a collapsed seed loses
BEGIN, END = "<!-- coverage: begin -->", "<!-- coverage: end -->"


@dataclass(frozen=True)
class Line:
    """One number of the study: a table, a row of it, and the value at a number of seeds."""

    table: str
    row: str
    seeds: int
    value: float
    draws: int


@dataclass(frozen=True)
class Seeds:
    """A distribution of seeds: boards [B, M, S] with a given correlation at a seed, and the true mean."""

    name: str
    draw: Callable[[Generator, tuple[int, int, int]], Array]
    mean: float


def correlated(generator: Generator, shape: tuple[int, int, int]) -> Array:
    """Standard normal [B, M, S], what one seed has in common included."""
    boards, _, seeds = shape
    common = generator.standard_normal((boards, 1, seeds))
    return math.sqrt(SHARED) * common + math.sqrt(1 - SHARED) * generator.standard_normal(shape)


def gaussian() -> Seeds:
    """Seeds as most of the literature takes them to be."""
    return Seeds("Gaussian", lambda g, shape: MEAN + SPREAD * correlated(g, shape), MEAN)


def beta(name: str) -> Seeds:
    """Beta-distributed seeds, correlated through their normal scores; read off a fine table of the quantiles."""
    law = stats.beta(*BETAS[name])
    grid = np.linspace(-6, 6, 4001)
    quantiles = law.ppf(stats.norm.cdf(grid))
    return Seeds(name, lambda g, shape: np.interp(correlated(g, shape), grid, quantiles), float(law.mean()))


def collapsing(drop: float) -> Seeds:
    """Gaussian seeds of which one in ten, in each method by itself, loses `drop` spreads."""

    def draw(generator: Generator, shape: tuple[int, int, int]) -> Array:
        fallen = generator.random(shape) < COLLAPSING
        return MEAN + SPREAD * (correlated(generator, shape) - drop * fallen)

    return Seeds(f"one in ten falls by {drop} sd", draw, MEAN - COLLAPSING * drop * SPREAD)


def kinds() -> list[Seeds]:
    """The distributions, those that must hold first."""
    return [gaussian(), *(beta(name) for name in BETAS), *(collapsing(drop) for drop in DROPS)]


def covers(low: Array, high: Array, truth: float) -> float:
    """The share of intervals that hold the truth."""
    return float(((low <= truth) & (truth <= high)).mean())


def holds(interval: st.Interval, truth: float) -> bool:
    """Whether one interval holds the truth."""
    return interval.low <= truth <= interval.high


def scores(generator: Generator, draws: int) -> Iterator[Line]:
    """The score column, its difference to GRPO for one comparison, and the simultaneous ones of a board."""
    for kind in kinds():
        for n in SEEDS:
            board = kind.draw(generator, (draws, METHODS + 1, n))
            _, low, high = st.t_limits(board[:, 0], LEVEL)
            yield Line("score [95 %]", kind.name, n, covers(low, high, kind.mean), draws)
            differences = board[:, 1:] - board[:, :1]
            _, low, high = st.t_limits(differences[:, 0], LEVEL)
            yield Line("difference, one comparison", kind.name, n, covers(low, high, 0.0), draws)
            _, low, high = st.t_limits(differences, 1 - (1 - LEVEL) / METHODS)
            together = ((low <= 0) & (high >= 0)).all(axis=1)
            yield Line("differences of a board, all at once", kind.name, n, float(together.mean()), draws)


def unlike(generator: Generator, draws: int) -> Iterator[Line]:
    """Methods whose seeds are skewed or collapse, with the mean of a GRPO whose seeds are Gaussian and do not."""
    for kind in (beta("beta(18, 2)"), collapsing(6)):
        for n in SEEDS:
            own = kind.draw(generator, (draws, METHODS, n)) - kind.mean
            differences = own - SPREAD * generator.standard_normal((draws, 1, n))
            row = f"{kind.name}; GRPO Gaussian"
            _, low, high = st.t_limits(differences[:, 0], LEVEL)
            yield Line("difference, one comparison", row, n, covers(low, high, 0.0), draws)
            _, low, high = st.t_limits(differences, 1 - (1 - LEVEL) / METHODS)
            together = ((low <= 0) & (high >= 0)).all(axis=1)
            yield Line("differences of a board, all at once", row, n, float(together.mean()), draws)
            claimed = st.holm(st.paired_p_values(differences)) < 1 - LEVEL
            better = (claimed & (differences.mean(axis=-1) > 0)).any(axis=1)
            yield Line('equal means: boards with a false "better than GRPO"', row, n, float(better.mean()), draws)


def tasks(generator: Generator, draws: int) -> Iterator[Line]:
    """Scores over eight tasks, by mean and by interquartile mean, a seed's tasks moving together."""
    where = np.linspace(0.15, 0.75, 8)
    for n in SEEDS:
        shape = (draws, n, 8)
        both = generator.standard_normal((draws, n, 1)) + generator.standard_normal(shape)
        values = np.clip(where + 0.06 * both, 0, 1)
        for reduce, row in (("mean", "mean over 8 tasks"), ("iqm", "interquartile mean over 8 tasks")):
            one = st.per_seed(values, reduce)
            _, low, high = st.t_limits(one, LEVEL)
            yield Line("score [95 %]", row, n, covers(low, high, float(one.mean())), draws)


def area(generator: Generator, draws: int) -> Iterator[Line]:
    """The area under curves of 21 evaluations: seeds differ in speed and end, evaluations in noise."""
    progress = np.linspace(0, 1, 21)

    def areas(count: int) -> Array:
        speed, end = generator.gamma(4, 1, (count, 1)), 0.2 * generator.beta(4, 2, (count, 1))
        noise = 0.02 * generator.standard_normal((count, 21))
        return np.array([st.area_under_curve(progress, y) for y in 0.3 + end * (1 - np.exp(-speed * progress)) + noise])

    truth = float(areas(20 * draws).mean())
    for n in SEEDS:
        _, low, high = st.t_limits(areas(draws * n).reshape(draws, n), LEVEL)
        yield Line("area [95 %]", "saturating curves", n, covers(low, high, truth), draws)


def targets(generator: Generator, draws: int) -> Iterator[Line]:
    """Budget to target, read off noisy curves; the share of seeds that never reach it is that of the row."""

    def budgets(count: int, typical: float, evaluations: int) -> Array:
        spent = np.linspace(0, 1, evaluations)
        when = typical * np.exp(0.35 * generator.standard_normal((count, 1)))
        curves = 1 - np.exp(-math.log(2) * spent / when) + 0.01 * generator.standard_normal((count, evaluations))
        return np.array([st.budget_to_target(spent, curve, 0.5) for curve in curves])

    for typical, evaluations in ((0.4, 21), (0.4, 5), (0.8, 21), (1.0, 21), (1.2, 21)):
        many = budgets(20 * draws, typical, evaluations)
        missed, truth = float(np.isinf(many).mean()), float(np.minimum(many, 1.0).mean())
        row = f"{100 * missed:.0f} % of seeds miss; {evaluations} evaluations"
        for n in SEEDS:
            drawn = budgets(draws * n, typical, evaluations).reshape(draws, n)
            found = [st.restricted_mean(one, 1.0, LEVEL) for one in drawn]
            shown = [interval for interval in found if not math.isnan(interval.low)]
            held = float(np.mean([holds(interval, truth) for interval in shown])) if shown else math.nan
            yield Line("budget to target [95 %]", row, n, held, len(shown))
            yield Line("budget to target, share of boards with an interval", row, n, len(shown) / draws, draws)


def answers(generator: Generator, shape: tuple[int, int], difficulty: Array, ability: float, luck: float) -> Array:
    """0 or 1 of [S, I]: logistic in the seed's ability less the item's difficulty, both Gaussian."""
    own = ability + luck * generator.standard_normal((shape[0], 1))
    return (generator.random(shape) < 1 / (1 + np.exp(difficulty - own))).astype(float)


def solved(ability: float, spread: float) -> float:
    """The expected share of right answers, by Gauss-Hermite quadrature over seeds and items together."""
    x, w = np.polynomial.hermite_e.hermegauss(80)
    return float((w / w.sum() / (1 + np.exp(-ability - spread * x))).sum())


def items(generator: Generator, draws: int) -> Iterator[Line]:
    """Other items: the evaluation error of one policy, and the difference of two over other seeds and other items."""
    hard, own, luck, count = 1.5, 0.7, 0.2, 200  # `own`: what a method finds hard and others do not, at every seed
    spread = math.hypot(hard, own, luck)
    truth = solved(0.3, spread) - solved(0.0, spread)
    for n in SEEDS:
        hits = {"two-way": 0, "over seeds alone": 0}
        for _ in range(draws):
            common, first, second = generator.standard_normal((3, 1, count))
            one = answers(generator, (n, count), hard * common + own * first, 0.3, luck)
            two = answers(generator, (n, count), hard * common + own * second, 0.0, luck)
            found = st.item_differences(one, two)
            hits["two-way"] += holds(st.two_way_interval(found, LEVEL), truth)
            hits["over seeds alone"] += holds(st.t_interval(found.mean(axis=1), LEVEL), truth)
        for row, hit in hits.items():
            yield Line(f"difference on other items, {count} items", row, n, hit / draws, draws)
    source = np.repeat(np.arange(count // 4), 4)
    z, expected = float(stats.norm.ppf(0.5 + LEVEL / 2)), solved(0.0, hard)
    right = {"clustered by item or source": 0, "variants of one source taken as independent": 0}
    for _ in range(draws):
        difficulty = hard * generator.standard_normal((1, count // 4))[:, source]
        given = answers(generator, (1, count), difficulty, 0.0, 0.0)
        for row, clusters in zip(right, (source, None), strict=True):
            right[row] += abs(float(given.mean()) - expected) <= z * st.evaluation_error(given, clusters)
    for row, hit in right.items():
        yield Line("score +- 1.96 evaluation errors, 200 items of 50 sources", row, 1, hit / draws, draws)


def ranks(generator: Generator, draws: int) -> Iterator[Line]:
    """Rank ranges: whether all methods' true ranks lie inside at once, and how many ranks a range holds."""
    for row, step in (("all equal", 0.0), ("one sd apart", 1.0)):
        for n in SEEDS:
            truth = MEAN - SPREAD * step * np.arange(METHODS)
            board = truth[:, None] + SPREAD * correlated(generator, (draws, METHODS, n))
            found = st.rank_range(board, 1 - LEVEL)
            best = np.arange(1, METHODS + 1) if step else np.full(METHODS, 1)  # of equals the whole range must be there
            last = np.arange(1, METHODS + 1) if step else np.full(METHODS, METHODS)
            inside = ((found[..., 0] <= best) & (found[..., 1] >= last)).all(axis=1)
            yield Line("rank ranges, all at once", row, n, float(inside.mean()), draws)
            width = float((found[..., 1] - found[..., 0] + 1).mean())
            yield Line("rank ranges, mean number of ranks inside", row, n, width, draws)


def bootstraps(generator: Generator, draws: int) -> Iterator[Line]:
    """Why no bootstrap over seeds is printed."""
    for n in SEEDS:
        seeds = MEAN + SPREAD * generator.standard_normal((draws, n))
        for kind in ("percentile", "bca"):
            found = [st.bootstrap_interval(one, kind=kind, draws=1000, seed=i) for i, one in enumerate(seeds)]
            value = float(np.mean([holds(interval, MEAN) for interval in found]))
            yield Line("not printed: bootstraps of the score", kind, n, value, draws)
        _, low, high = st.t_limits(seeds, LEVEL)
        yield Line("not printed: bootstraps of the score", "t, on the same seeds", n, covers(low, high, MEAN), draws)


def claims(generator: Generator, boards: int) -> Iterator[Line]:
    """A/A boards: GRPO under ten more names; the share of boards with a false claim, and those marked for collapse."""
    for kind in kinds():
        for n in SEEDS:
            board = kind.draw(generator, (boards, METHODS + 1, n))
            differences = board[:, 1:] - board[:, :1]
            claimed = st.holm(st.paired_p_values(differences)) < 1 - LEVEL
            better = (claimed & (differences.mean(axis=-1) > 0)).any(axis=1)
            yield Line('A/A: boards with a false "better than GRPO"', kind.name, n, float(better.mean()), boards)
            either = float(claimed.any(axis=1).mean())
            yield Line('A/A: boards with a false "better" or "worse"', kind.name, n, either, boards)
            part = boards // 5
            marked = float(np.mean([st.collapsed(one).any() for one in board[:part]]))
            yield Line("boards marked for collapsed seeds", kind.name, n, marked, part)
            if n >= st.least_seeds(1 - LEVEL, METHODS):
                flips = [[st.sign_flip_p(pair) for pair in one] for one in differences[:part]]
                signed = float((st.holm(flips) < 1 - LEVEL).any(axis=1).mean())
                yield Line("A/A: boards with a false sign-flip p < .05", kind.name, n, signed, part)


def power(generator: Generator, draws: int) -> Iterator[Line]:
    """Whether the seeds that `harness power` asks for find the effect with the chance it was asked for, .80."""
    deviation = SPREAD * math.sqrt(2 * (1 - SHARED))
    for effect in (0.03, 0.05):
        n = st.seeds_needed(effect, deviation)
        board = correlated(generator, (draws, 2, n))
        found = st.paired_p_values(effect + SPREAD * (board[:, 0] - board[:, 1])) < 1 - LEVEL
        predicted = st.paired_power(n, effect, deviation)
        row = f"effect {effect / deviation:.2f} sd: predicted {predicted:.3f}"
        yield Line("power at the seeds asked for", row, n, float(found.mean()), draws)


def study(seed: int = 0, size: float = 1.0) -> list[Line]:
    """All lines; `size` scales the number of draws."""
    parts = [
        (scores, 10_000), (unlike, 10_000), (tasks, 10_000), (area, 4_000), (targets, 4_000), (items, 4_000),
        (ranks, 10_000), (bootstraps, 4_000), (claims, 10_000), (power, 20_000),
    ]  # fmt: skip
    lines: list[Line] = []
    for i, (part, draws) in enumerate(parts):
        lines += part(np.random.Generator(np.random.PCG64([seed, i])), max(20, round(size * draws)))
    return lines


def markdown(lines: list[Line]) -> str:
    """One table: a line a quantity and distribution, a column a number of seeds."""
    text = ["| what | seeds drawn from | 5 seeds | 10 seeds | boards drawn |", "|---|---|---:|---:|---:|"]
    rows = dict.fromkeys((line.table, line.row) for line in lines)
    for table, row in rows:
        found = {line.seeds: line for line in lines if (line.table, line.row) == (table, row)}
        if found.keys() <= set(SEEDS):
            values = [f"{found[n].value:.3f}" if n in found else "-" for n in SEEDS]
        else:  # a number of seeds of its own, or none
            values = [f"{line.value:.3f}" + (f" ({n} seeds)" if n > 1 else "") for n, line in found.items()] + ["-"]
        draws = max(line.draws for line in found.values())
        text.append(f"| {table} | {row} | {' | '.join(values)} | {draws:,} |")
    return "\n".join(text)


def write(path: Path, text: str) -> None:
    """Put the table between its two marks in a page."""
    page = path.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def main() -> None:
    """Run it and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="one draw in a hundred: does it run, no more")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path, help="the page whose table is to be replaced")
    asked = parser.parse_args()
    start = time.process_time()
    text = markdown(study(asked.seed, 0.01 if asked.small else 1.0))
    print(text)
    if asked.write:
        write(asked.write, text)
    print(f"\n{time.process_time() - start:.0f} s of one core")


if __name__ == "__main__":
    main()
