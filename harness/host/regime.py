"""How far a batch is from the policy that trains on it: what decides whether ratios and staleness matter at all."""

from __future__ import annotations

import dataclasses

__all__ = ["ALL_REGIMES", "Regime"]


@dataclasses.dataclass(frozen=True)
class Regime:
    """`updates`: a batch gives several updates, so that the ratio to the old policy leaves 1. `lag`: older weights
    sample, so that `logp_sampler` and `age` say something.
    """

    updates: bool = False
    lag: bool = False

    @classmethod
    def of(cls, minibatches: int, updates_per_batch: int, lag: int) -> Regime:
        """That of a suite's settings."""
        return cls(updates=minibatches * updates_per_batch > 1, lag=lag > 0)

    def __str__(self) -> str:
        count = "several updates" if self.updates else "one update"
        return f"{count} a batch{', sampled by older weights' if self.lag else '' if self.updates else ', on-policy'}"


ALL_REGIMES = tuple(Regime(updates, lag) for updates in (False, True) for lag in (False, True))
