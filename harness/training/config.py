"""The settings of a trial, as a suite file spells them; checked by pydantic, unknown keys refused."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = [
    "BudgetConfig", "EvaluationConfig", "LearnerConfig", "Limits", "OptimizerConfig", "PolicyConfig", "SamplerConfig",
    "SamplingConfig", "TaskShare", "TrialConfig", "VerifierConfig",
]  # fmt: skip


class Section(BaseModel):
    """A part of a suite file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PolicyConfig(Section):
    """Which weights every method starts from."""

    model: str = "embedded"
    dtype: Literal["float32", "bfloat16", "float64"] = "float32"
    device: str = "cpu"
    chat: bool | None = None  # None: use the tokenizer's chat template where it has one
    system: str | None = None


class TaskShare(Section):
    """One task of the mixture and its share of the prompts."""

    task: str
    share: float = Field(1.0, gt=0)
    options: dict[str, Any] = Field(default_factory=dict)


class SamplingConfig(Section):
    """How many prompts a step, how many completions each, and under which distribution."""

    prompts: int = Field(32, ge=1)
    group_size: int = Field(8, ge=1)
    temperature: float = Field(1.0, gt=0)
    max_tokens: int = Field(40, ge=1)
    max_rounds: int = Field(10, ge=1)


class SamplerConfig(Section):
    """Which weights sample: `lag` steps older than the learner's."""

    lag: int = Field(0, ge=0)


class VerifierConfig(Section):
    """How reliable the verdicts are that methods train on: `flip` is the share that is wrong. Evaluation is exact."""

    flip: float = Field(0.0, ge=0, lt=1)


class LearnerConfig(Section):
    """How a gathered batch becomes optimizer steps."""

    minibatches: int = Field(1, ge=1)
    updates_per_batch: int = Field(1, ge=1)
    micro_batch: int = Field(64, ge=1)
    max_grad_norm: float | None = Field(1.0, gt=0)


class OptimizerConfig(Section):
    """AdamW, and a schedule over the fraction of the budget spent."""

    lr: float = Field(1e-4, gt=0)
    betas: tuple[float, float] = (0.9, 0.95)
    eps: float = 1e-8
    weight_decay: float = 0.0
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup: float = Field(0.0, ge=0, lt=1)


class BudgetConfig(Section):
    """What a trial may spend: exactly one currency."""

    compute: float | None = Field(None, gt=0)
    tokens: float | None = Field(None, gt=0)
    rollouts: float | None = Field(None, gt=0)
    updates: float | None = Field(None, gt=0)
    seconds: float | None = Field(None, gt=0)

    @model_validator(mode="after")
    def _one_currency(self) -> BudgetConfig:
        if len(self.model_fields_set & set(type(self).model_fields)) != 1:
            msg = "budget takes exactly one of compute, tokens, rollouts, updates, seconds"
            raise ValueError(msg)
        return self

    @property
    def currency(self) -> str:
        """The unit that the suite counts in."""
        return next(name for name in type(self).model_fields if getattr(self, name) is not None)

    @property
    def limit(self) -> float:
        """How much of it a trial may spend."""
        return float(getattr(self, self.currency))


class EvaluationConfig(Section):
    """When and how the policy is evaluated: every so much of the budget, off the clock."""

    every: float = Field(0.25, gt=0, le=1)
    problems: int = Field(500, ge=1)
    samples: int = Field(4, ge=1)
    temperature: float = Field(1.0, gt=0)
    max_tokens: int | None = None  # None: the sampling section's
    batch: int = Field(256, ge=1)
    split: Literal["test", "validation"] = "test"


class Limits(Section):
    """When a trial is given up."""

    seconds: float = Field(3600, gt=0)
    memory: str | None = None


class TrialConfig(Section):
    """One trial: a method stack and a seed under a suite's settings."""

    suite: str
    rules: int = 1
    method: str
    seed: int = Field(0, ge=0)
    policy: PolicyConfig = PolicyConfig()
    tasks: tuple[TaskShare, ...] = (TaskShare(task="math"),)
    reward_weights: dict[str, float] = Field(default_factory=dict)  # overrides the tasks' own
    sampling: SamplingConfig = SamplingConfig()
    sampler: SamplerConfig = SamplerConfig()
    verifier: VerifierConfig = VerifierConfig()
    learner: LearnerConfig = LearnerConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    budget: BudgetConfig
    evaluation: EvaluationConfig = EvaluationConfig()
    limits: Limits = Limits()
    checkpoint_seconds: float = Field(60.0, ge=0)
    threads: int = Field(1, ge=1)
    sandbox: Literal["namespaces", "limits"] = "namespaces"
    plugins: tuple[str, ...] = ()  # files given with --plugin
