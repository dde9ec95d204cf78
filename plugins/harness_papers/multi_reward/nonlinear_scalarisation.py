"""Non-linear scalarisation: maximise a function of the mean rewards, by its derivatives at the running means."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from harness import hookimpl, method
from harness_papers.reward_columns import column_means, reweighted

if TYPE_CHECKING:
    from harness import Batch


@method(base="grpo(beta=0)", experimental=True, neutral={"utility": "sum"})
class NonlinearScalarisation:
    """The policy maximises a concave function of its mean rewards, so that none of them is left behind.

    w_k <- w_k df/dJ_k at the running means J, R_i = sum_k w_k r_ik.  utility: "log", f = sum w_k log J_k, 1 / J_k;
    "min", a soft minimum, K softmax(-J / temperature); "sum", f = sum w_k J_k, the task's weights.

    J <- (1 - eta) J + eta mean_b(r), from the first batch: the derivative at a single batch's mean is biased. least:
    J counts as at least this. The paper's variance reduction by a recursive momentum is not here. A common factor of
    the weights cancels in a z-score, their ratios do not.
    State: J.
    Edge cases: one column is scaled by a constant.
    Source: an abstract on policy gradients for non-linear scalarisations; numbers are ours. Confidence: abstract
    (reconstructed).
    """

    utility: Literal["log", "min", "sum"] = "log"
    eta: float = 0.1
    least: float = 0.05
    temperature: float = 0.1

    @hookimpl
    def start(self) -> None:
        """No means yet."""
        self.means: dict[str, float] = {}

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The columns as they are, under the derivatives."""
        batch = yield
        known = column_means(batch)
        return reweighted(
            batch, self.slopes({name: self.means.get(name, mean) for name, mean in known.items()}), relative=True
        )

    @hookimpl
    def end_step(self, state: Any) -> Mapping[str, float]:
        """Move the means."""
        for name, mean in column_means(state.gathered).items():
            before = self.means.get(name, mean)
            self.means[name] = before + self.eta * (mean - before)
        return {f"slope_{name}": slope for name, slope in self.slopes(self.means).items()}

    def slopes(self, means: Mapping[str, float]) -> dict[str, float]:
        """The derivative of the utility with respect to every mean, without the task's weight."""
        if self.utility == "sum":
            return dict.fromkeys(means, 1.0)
        if self.utility == "log":
            return {name: 1 / max(mean, self.least) for name, mean in means.items()}
        low = min(means.values(), default=0.0)
        shares = {name: math.exp((low - mean) / self.temperature) for name, mean in means.items()}
        return {name: len(shares) * share / sum(shares.values()) for name, share in shares.items()}
