"""The settings of a trial, as a suite file spells them; checked by pydantic, unknown keys refused."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

__all__ = [
    "BudgetConfig", "EvaluationConfig", "LearnerConfig", "Limits", "LoraConfig", "OptimizerConfig", "PolicyConfig",
    "Resources", "SamplerConfig", "SamplingConfig", "TaskShare", "TrialConfig", "Tuned", "VerifierConfig", "VllmConfig",
    "parse_bytes",
]  # fmt: skip


class Section(BaseModel):
    """A part of a suite file."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class LoraConfig(Section):
    """Low-rank adapters (arXiv 2106.09685) train, and the weights under them do not."""

    rank: int = Field(16, ge=1)
    alpha: float = Field(32.0, gt=0)
    rslora: bool = False  # scale by alpha / sqrt(rank) in place of alpha / rank (arXiv 2312.03732)
    targets: str | tuple[str, ...] = "all-linear"  # or names of modules, such as [q_proj, v_proj]
    dropout: float = 0.0

    @field_validator("dropout")
    @classmethod
    def _none(cls, value: float) -> float:
        if value:
            raise ValueError("must be 0: sampling, old log-probabilities and gradients see one and the same policy")
        return value


class PolicyConfig(Section):
    """Which weights every method starts from, and how they compute."""

    model: str = Field("embedded", description="embedded, an added model, a directory, or a name of the Hub.")
    revision: str | None = Field(None, description="Branch, tag or commit, for a name of the Hub.")
    dtype: Literal["float32", "bfloat16", "float64"] = "float32"
    device: str = "cpu"
    chat: bool | None = None  # None: use the tokenizer's chat template where it has one
    system: str | None = None
    chat_options: dict[str, Any] = Field(default_factory=dict, description="Variables of the chat template.")
    stop: tuple[str, ...] = Field((), description="Tokens that end a completion, beside those the model names.")
    lora: LoraConfig | None = None
    attention: Literal["sdpa", "eager", "flash_attention_2"] | None = None  # None: the fastest that is exact here
    gradient_checkpointing: bool = False
    compile: bool = False


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


class VllmConfig(Section):
    """How vLLM runs: in processes of the trial, or as a server that is already there."""

    server: str | None = Field(None, description="URL of a `vllm serve`; without one the trial starts an engine.")
    timeout: float = Field(600, gt=0, description="Seconds that one answer of a server may take.")
    context: int | None = Field(None, ge=1, description="Tokens of prompt and completion; the model's own without it.")
    sequences: int = Field(256, ge=1, description="Completions that are written side by side.")
    gpu_memory: float = Field(0.4, gt=0, le=1, description="Share of a GPU's memory; the learner has the rest.")
    tensor_parallel: int = Field(1, ge=1, description="GPUs that one engine is spread over.")
    eager: bool = Field(True, description="Without graph capture and compilation: starts sooner, writes slower.")
    cpu_cache_gib: int = Field(2, ge=1, description="Memory for keys and values on a CPU.")


class SamplerConfig(Section):
    """What samples, and with which weights: `lag` steps older than the learner's."""

    lag: int = Field(0, ge=0)
    engine: Literal["builtin", "vllm"] = "builtin"
    vllm: VllmConfig = VllmConfig()

    @property
    def served(self) -> bool:
        """Whether a server that is already there samples."""
        return self.engine == "vllm" and self.vllm.server is not None

    @property
    def colocated(self) -> bool:
        """Whether every trial starts an engine of its own."""
        return self.engine == "vllm" and self.vllm.server is None


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
    max_tokens: int | None = Field(None, ge=1)  # None: the sampling section's
    batch: int = Field(256, ge=1)
    split: Literal["test", "validation"] = "test"
    tasks: tuple[str, ...] = ()  # others than are trained on, lm-eval's too; measured, no part of the score
    tasks_max_tokens: int | None = Field(None, ge=1)  # None: each task's own
    shots: int | None = Field(None, ge=0)  # examples before a problem of lm-eval; None: the task's own number


def parse_bytes(text: str) -> int:
    """4GiB -> 4294967296; binary (KiB, MiB, GiB) and decimal (KB, MB, GB) units. Raises ValueError."""
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgKMG]?)(i?)[bB]?\s*", text)
    if not found:
        raise ValueError(f"{text!r} is no size; write it as 4GiB or 800MB")
    base = 1024 if found[3] else 1000
    return int(float(found[1]) * base ** ["", "k", "m", "g"].index(found[2].lower()))


def _size(text: str) -> str:
    parse_bytes(text)
    return text


Size = Annotated[str, AfterValidator(_size)]


class Limits(Section):
    """When a trial is given up."""

    seconds: float = Field(3600, gt=0)
    memory: Size | None = None


class Resources(Section):
    """What a trial takes up where it runs: cores, accelerators and memory of a cluster's node, processes of one trial.

    None of it changes a number beyond its last bits, so a trial may go on with other resources.
    """

    cpus: float | None = Field(None, ge=0, description="Cores that Ray sets aside; without it, threads x ranks.")
    gpus: float | None = Field(None, ge=0, description="GPUs that Ray sets aside; without it, one a rank on CUDA.")
    memory: Size | None = Field(None, description="Memory that Ray sets aside; without it, limits.memory.")
    ranks: int = Field(1, ge=1, description="Processes of one machine that train a trial together, a GPU each.")
    sharded: bool = Field(False, description="Divide weights and moments over ranks, for models that do not fit.")
    retries: int = Field(2, ge=0, description="How often a trial is taken up again whose worker or node Ray lost.")


class Tuned(Section):
    """Where a trial of the equal-tuning track stands: its row on the board, and the values that search tried or chose.

    `number` is that of a search trial, None in the report; `spent` what the row's search spent, known in the report.
    """

    row: str
    trials: int
    values: dict[str, Any]
    number: int | None = None
    spent: float | None = None


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
    resources: Resources = Resources()
    checkpoint_seconds: float = Field(60.0, ge=0)
    threads: int = Field(1, ge=1)
    sandbox: Literal["namespaces", "limits"] = "namespaces"
    plugins: tuple[str, ...] = ()  # files given with --plugin
    tuned: Tuned | None = None

    @property
    def row(self) -> str:
        """The stack as the suite lists it: `method` spells what search chose."""
        return self.method if self.tuned is None else self.tuned.row
