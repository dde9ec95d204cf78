"""A suite: the question, the settings that every method shares, the methods and the seeds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, ValidationInfo, field_validator

from harness import yaml12
from harness.suites.faults import refusal
from harness.suites.reader import Layer, read
from harness.training.config import (
    BudgetConfig,
    EvaluationConfig,
    LearnerConfig,
    Limits,
    OptimizerConfig,
    PolicyConfig,
    Resources,
    SamplerConfig,
    SamplingConfig,
    Section,
    TaskShare,
    VerifierConfig,
    parse_bytes,
)
from harness.tuning.settings import FIRST_SEED, TuningConfig

__all__ = ["RULES", "Suite", "parse_amount", "parse_bytes", "parse_seeds"]

RULES = 1  # the version of docs/rules.md

Seed = Annotated[int, Field(ge=0)]


class Suite(Section):
    """One suite file, checked. `methods` and `seeds` may grow later; any other change is another experiment."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", description="Names the run directory and the experiment.")
    rules: int = Field(1, description="The version of docs/rules.md that the suite follows.")
    question: str = Field("", description="What the suite is to find out, in a sentence.")
    policy: PolicyConfig = PolicyConfig()
    tasks: tuple[TaskShare, ...] = Field((TaskShare(task="math"),), min_length=1)
    reward_weights: dict[str, float] = Field(default_factory=dict, description="Override the tasks' own weights.")
    sampling: SamplingConfig = SamplingConfig()
    sampler: SamplerConfig = SamplerConfig()
    verifier: VerifierConfig = VerifierConfig()
    learner: LearnerConfig = LearnerConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    budget: BudgetConfig
    evaluation: EvaluationConfig = EvaluationConfig()
    seeds: tuple[Seed, ...] = Field((0, 1, 2, 3, 4), min_length=1, description="A count, or the seeds themselves.")
    baseline: str = Field("grpo(beta=0)", description="The stack that every other is compared with, seed by seed.")
    methods: tuple[str, ...] = Field((), description="Method stacks, such as dapo+f-grpo(gamma=2).")
    honesty: tuple[Literal["placebo", "random-reward"], ...] = Field(
        ("placebo", "random-reward"), description="Control rows put over the baseline."
    )
    tuning: TuningConfig | None = Field(None, description="Equal search before the report; docs/tuning.md.")
    limits: Limits = Limits()
    resources: Resources = Resources()
    checkpoint_seconds: float = Field(60.0, ge=0)
    threads: int = Field(1, ge=1)
    sandbox: Literal["namespaces", "limits"] = "namespaces"
    plugins: tuple[str, ...] = Field((), description="Python files with @method classes.")

    @field_validator("rules")
    @classmethod
    def _rules(cls, value: int) -> int:
        if value != RULES:
            raise ValueError(f"this version of the harness compares by rules {RULES}, not {value}")
        return value

    @field_validator("seeds", mode="before")
    @classmethod
    def _seeds(cls, value: Any) -> Any:
        if isinstance(value, (int, str)) and not isinstance(value, bool):
            return parse_seeds(value)
        if isinstance(value, (list, tuple)) and len(set(map(str, value))) != len(value):
            raise ValueError("a seed comes twice")
        return value

    @field_validator("methods", mode="before")
    @classmethod
    def _methods(cls, value: Any) -> Any:
        for item in value if isinstance(value, (list, tuple)) else ():
            if isinstance(item, dict):
                name = next(iter(item), "dapo")
                raise ValueError(f"a method is one text with its parameters in parentheses, as {name}(x=1)")  # noqa: TRY004 -- pydantic's
        return value

    @field_validator("tuning")
    @classmethod
    def _apart(cls, value: TuningConfig | None, info: ValidationInfo) -> TuningConfig | None:
        """A search may see neither the seeds nor the problems of the report."""
        if value is None:
            return value
        late = [seed for seed in info.data.get("seeds", ()) if seed >= FIRST_SEED]
        if late:
            raise ValueError(f"a suite with tuning reports seeds below {FIRST_SEED}, not {late[0]}")
        evaluation = info.data.get("evaluation")
        if evaluation is not None and evaluation.split == value.split:
            raise ValueError(f"search is scored on {value.split}, so evaluation.split must be test")
        return value

    @classmethod
    def load(cls, name: str | Path, sets: Sequence[str] = (), overrides: Mapping[str, Any] | None = None) -> Suite:
        """Read a suite by path or bundled name. Raises UsageError: every fault with file, line and the nearest name."""
        return cls.check(read(name, sets, overrides))

    @classmethod
    def check(cls, layer: Layer) -> Suite:
        """A suite from data and the places it came from."""
        try:
            return cls.model_validate(layer.data)
        except ValidationError as error:
            raise refusal(error, layer, cls) from None

    def resolved(self) -> dict[str, Any]:
        """Every setting as plain data, in the order of a suite file."""
        return self.model_dump(mode="json")

    def to_yaml(self) -> str:
        """The resolved suite as a file that loads to an equal suite."""
        data = self.resolved()
        data["budget"] = {self.budget.currency: getattr(self.budget, self.budget.currency)}
        return yaml12.dump(data)


def parse_amount(text: str) -> float:
    """200k -> 200000.0; also m, g and plain numbers. Raises ValueError."""
    found = re.fullmatch(r"\s*([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][0-9]+)?)\s*([kKmMgG]?)\s*", text)
    if not found:
        raise ValueError(f"{text!r} is no amount; write 200000, 200k or 1.5M")
    amount = float(found[1].replace("_", "")) * {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}[found[2].lower()]
    if not amount:
        raise ValueError(f"{text.strip()} lets a trial spend nothing; write 200000, 200k or 1.5M")
    return amount


def parse_seeds(value: int | str) -> tuple[int, ...]:
    """5 -> (0, 1, 2, 3, 4); "0,3-5" -> (0, 3, 4, 5). Raises ValueError."""
    text = str(value).strip()
    if text.isdigit():
        if int(text) < 1:
            raise ValueError("at least one seed is needed")
        return tuple(range(int(text)))
    seeds: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+))?\s*", part)
        if not found:
            raise ValueError(f"{text!r} are no seeds; write a count (5) or seeds (0,2,4-7)")
        seeds.extend(range(int(found[1]), int(found[2] or found[1]) + 1))
    if len(set(seeds)) != len(seeds) or not seeds:
        raise ValueError("a seed comes twice" if seeds else f"{text!r} names no seed")
    return tuple(seeds)
