"""RECAP: weight goes to objectives that are far from done, or restless."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness import hookimpl, method
from harness_papers.reward_columns import column_means, in_order, reweighted

if TYPE_CHECKING:
    from harness import Batch

EPS = 1e-6


def mean_of(series: Sequence[float]) -> float:
    """The mean of a series."""
    return sum(series) / len(series)


@method(name="recap", paper="2510.21978", base="grpo(beta=0)", experimental=True, neutral={"temperature": math.inf})
class RECAP:
    """Rewards that have converged and are calm lose weight to those that are low, volatile or falling.

    x_k: the means of column k over the last `window` steps;  w_k <- w_k K softmax_k((gap_k + unrest_k) / temperature),
    gap = 1 - mean x, unrest = std x / (|mean x| + 1e-6) + max(0, -slope x), std over n, slope of the fitted line.

    The paper also replays prompts of general data: a suite does that, with several tasks and their shares. Columns in
    [0, 1]. All formulas and numbers are reconstructed: the abstract only says what the weights react to.
    State: the means of the last steps.
    Edge cases: before two steps are known the weights stay; equal signals leave them too.
    Source: arXiv 2510.21978, the abstract. Confidence: abstract (reconstructed).
    """

    window: int = 10
    temperature: float = 0.5

    @hookimpl
    def start(self) -> None:
        """No step yet."""
        self.series: dict[str, list[float]] = {}

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The columns as they are, with new weights."""
        batch = yield
        return reweighted(batch, self.factors(in_order(batch, ())), relative=True)

    @hookimpl
    def end_step(self, state: Any) -> Mapping[str, float]:
        """One more point for every column."""
        for name, mean in column_means(state.gathered).items():
            self.series[name] = [*self.series.get(name, []), mean][-self.window :]
        return {f"factor_{name}": factor for name, factor in self.factors(list(self.series)).items()}

    def factors(self, names: Sequence[str]) -> dict[str, float]:
        """What the columns' weights are multiplied with; 1 on average."""
        known = [name for name in names if len(self.series.get(name, ())) > 1]
        signals = [self.signal(self.series[name]) / self.temperature for name in known]
        shares = [math.exp(signal - max(signals)) for signal in signals]
        return {name: len(known) * share / sum(shares) for name, share in zip(known, shares, strict=True)}

    @staticmethod
    def signal(series: Sequence[float]) -> float:
        """What is left to learn, and how restless the last steps were."""
        mean, middle = mean_of(series), (len(series) - 1) / 2
        std = math.sqrt(mean_of([(x - mean) ** 2 for x in series]))
        places = range(len(series))
        slope = sum((place - middle) * x for place, x in zip(places, series, strict=True))
        slope /= sum((place - middle) ** 2 for place in places)
        return 1 - mean + std / (abs(mean) + EPS) + max(0.0, -slope)
