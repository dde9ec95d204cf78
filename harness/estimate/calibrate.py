"""What a step and an evaluation of a suite take here: two steps of its baseline, and a few problems a task."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.budget import Cost
from harness.errors import HarnessError
from harness.files import read_json

if TYPE_CHECKING:
    from harness.policies.policy import Policy
    from harness.training.config import EvaluationConfig, TrialConfig

__all__ = ["Calibration", "calibrate"]

STEPS = 2  # the first warms up, the last is measured
PROBLEMS = 32  # a task, of the evaluation that is measured


@dataclass(frozen=True)
class Calibration:
    """Measured in one process of this machine."""

    step: Cost  # a step, mean over those run
    prompt: float  # tokens, mean
    completion: float  # tokens, mean
    parameters: int
    trained: int
    step_seconds: float
    evaluation_seconds: float  # of all problems of one evaluation
    start_seconds: float  # what a trial takes before its first step
    memory: float  # bytes, the largest resident size; 0 where not known


def calibrate(config: TrialConfig) -> Calibration:
    """Run the first steps of a trial in a temporary directory, which is removed. Raises HarnessError if they fail."""
    from harness.runtime import single_threaded
    from harness.training.trial import run_trial

    learner = config.learner
    budget = type(config.budget)(updates=STEPS * learner.minibatches * learner.updates_per_batch)
    evaluation = config.evaluation.model_copy(update={"every": 1.0})
    short = config.model_copy(update={"budget": budget, "evaluation": evaluation})
    single_threaded(config.threads)
    watch = _Watch(config)
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "trial"
        began = time.monotonic()
        result = run_trial(short, directory, evaluate=watch)
        took = time.monotonic() - began
        if result.status != "done" or not result.steps:
            raise HarnessError(f"the measuring run of {config.method} {result.status}: {result.error or 'no step'}")
        lines = (directory / "timing.jsonl").read_text(encoding="utf-8").splitlines()
        ledger = read_json(directory / "ledger.json")
    timing = [json.loads(line) for line in lines]
    step = Cost(*(float(ledger["total"][name]) / result.steps for name in Cost._fields))
    stepping = sum(float(record["total"]) for record in timing)
    return Calibration(
        step=step,
        prompt=float(ledger["counts"]["tokens_prompt"]) / (result.steps * config.sampling.prompts),
        completion=step.tokens / max(step.rollouts, 1.0),
        parameters=watch.parameters,
        trained=watch.trained,
        step_seconds=float(timing[-1]["total"]),
        evaluation_seconds=watch.seconds[-1] * config.evaluation.problems / watch.problems,
        start_seconds=max(took - stepping - sum(watch.seconds), 0.0),
        memory=max((float(record.get("memory") or 0) for record in timing), default=0.0),
    )


class _Watch:
    """Evaluates a few validation problems, and keeps how long that took and what the policy is."""

    def __init__(self, config: TrialConfig) -> None:
        self.problems = min(PROBLEMS, config.evaluation.problems)
        self.system = config.policy.system
        self.seconds: list[float] = []
        self.parameters = self.trained = 0

    def __call__(self, policy: Policy, tasks: Any, config: EvaluationConfig, *, seed: int, sandbox: Any) -> Any:
        from harness.evaluation import evaluate

        self.parameters = policy.n_params
        self.trained = sum(part.numel() for part in policy.model.parameters() if part.requires_grad)
        asked = config.model_copy(update={"problems": self.problems, "split": "validation"})
        began = time.monotonic()
        report = evaluate(policy, tasks, asked, seed=seed, sandbox=sandbox, system=self.system)
        self.seconds.append(time.monotonic() - began)
        return report
