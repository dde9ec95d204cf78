"""The `tuning:` section of a suite, checked."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from harness.errors import nearest
from harness.host.ranges import Range
from harness.training.config import LearnerConfig, OptimizerConfig, SamplingConfig, Section

__all__ = ["FIRST_SEED", "SHARED", "SharedRange", "TuningConfig"]

FIRST_SEED = 1000  # tuning uses 1000 to 1999, reports 0 to 999 (docs/rules.md)
SHARED: dict[str, type[Section]] = {"optimizer": OptimizerConfig, "learner": LearnerConfig, "sampling": SamplingConfig}


class SharedRange(Section):
    """Where a setting that all methods share is searched: from `low` to `high`, or among `choices`."""

    low: float | None = None
    high: float | None = None
    log: bool = False
    choices: tuple[Any, ...] = ()

    @model_validator(mode="after")
    def _spans(self) -> SharedRange:
        _ = self.range
        return self

    @property
    def range(self) -> Range:
        """The same as a method's own ranges. Raises ValueError for ends that span nothing."""
        if self.choices:
            if self.low is not None or self.high is not None or self.log:
                raise ValueError("choices stand alone, without low, high and log")
            return Range.read(list(self.choices))
        if self.low is None or self.high is None:
            raise ValueError("a range needs low and high, or choices")
        return Range.between(self.low, self.high, log=self.log)


class TuningConfig(Section):
    """Search before the report: for every method so many trials, on seeds and problems that no report uses."""

    trials: int = Field(8, ge=2, description="Search trials of every method; the first has the published values.")
    sampler: Literal["sobol", "halton", "random"] = "sobol"
    seeds: int = Field(1, ge=1, le=1000, description="Seeds of every search trial, from 1000 on.")
    budget_share: float = Field(1.0, gt=0, le=1, description="What a search trial may spend, of a trial's budget.")
    metric: Literal["score", "auc"] = Field("score", description="Chosen by: the last score, or the mean over budget.")
    split: Literal["validation"] = "validation"
    shared: dict[str, SharedRange] | None = Field(
        None, description="Settings that every method tunes; by default optimizer.lr, a decade around the suite's."
    )

    @field_validator("shared")
    @classmethod
    def _known(cls, value: dict[str, SharedRange] | None) -> dict[str, SharedRange] | None:
        known = [f"{section}.{field}" for section, model in SHARED.items() for field in model.model_fields]
        for name in value or {}:
            if name not in known:
                raise ValueError(f"{name!r} is no setting of {', '.join(SHARED)}.{nearest(name, known)}")
        return value

    @property
    def numbers(self) -> tuple[int, ...]:
        """The seeds of every search trial."""
        return tuple(range(FIRST_SEED, FIRST_SEED + self.seeds))
