"""How much work a trial is: pure arithmetic on a suite's settings and on what one step costs."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.budget import Cost

if TYPE_CHECKING:
    from harness.training.config import TrialConfig

__all__ = ["Workload", "evaluations", "nominal", "workload"]


@dataclass(frozen=True)
class Workload:
    """One trial: training in steps, evaluation in completions. Token counts are means over what is foreseen."""

    steps: float
    compute: float  # forward-tokens of training: generation, passes and gradients
    generated: float  # tokens sampled in training
    longest: int  # positions that a batch of completions is decoded over, one after the other
    rollouts: float  # completions a step
    evaluations: int
    evaluated: float  # completions of one evaluation
    evaluated_tokens: float  # of one evaluation, prompts included


def evaluations(every: float) -> int:
    """How often a trial evaluates: before the first step, after every share of the budget, at the end."""
    return 1 + math.ceil(1 / every - 1e-9)


def nominal(config: TrialConfig, needs: Collection[str], prompt: float, completion: float) -> Cost:
    """The cost of a step of a whole batch with prompts and completions of these mean lengths, as docs/rules.md counts.

    Rows enter the loss whole, whatever their reward; modules that a stack builds are not known here.
    """
    from harness.training.reserve import foreseen_passes

    sampling, learner = config.sampling, config.learner
    rollouts = sampling.prompts * sampling.group_size
    sampled = Cost.generation(sampling.prompts * prompt, rollouts * completion, rollouts)
    greedy = sampling.prompts * (prompt + completion) if "greedy" in needs else 0.0
    passes = foreseen_passes(learner, needs) * rollouts * (prompt + completion)
    updates = learner.minibatches * learner.updates_per_batch
    return sampled + Cost(compute=greedy + passes, updates=updates)


def workload(config: TrialConfig, step: Cost, prompt: float, completion: float, *, seconds: float = 0.0) -> Workload:
    """A trial whose steps cost `step` each and take `seconds` (asked for under a budget of seconds only).

    The last step that does not fit is not run, so steps are rounded down.
    """
    budget, sampling = config.budget, config.sampling
    each = seconds if budget.currency == "seconds" else float(getattr(step, budget.currency))
    steps = float(math.floor(budget.limit / each + 1e-9)) if each > 0 else 0.0
    tasks = len(config.tasks) + len(config.evaluation.tasks)  # a group counts as one
    asked = tasks * config.evaluation.problems * (1 + config.evaluation.samples)
    return Workload(
        steps=steps, compute=steps * step.compute, generated=steps * step.tokens, longest=sampling.max_tokens,
        rollouts=step.rollouts, evaluations=evaluations(config.evaluation.every), evaluated=float(asked),
        evaluated_tokens=asked * (prompt + completion),
    )  # fmt: skip
