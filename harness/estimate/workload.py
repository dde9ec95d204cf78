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

LM_EVAL_TOKENS = 256  # what its tasks may write where nothing is set, most of them


@dataclass(frozen=True)
class Workload:
    """One trial: training in steps, evaluation in completions. Token counts are means over what is foreseen."""

    steps: float
    compute: float  # forward-tokens of training: generation, passes and gradients
    generated: float  # tokens sampled in training
    unpriced: float  # forward-tokens that are run beside `compute`, or not run though they are in it
    prompt: float  # tokens, mean
    longest: int  # positions that a batch of completions is decoded over, one after the other
    rollouts: float  # completions a step
    engine: tuple[int, int] | None  # completions at a time and GPUs of an engine that samples in training
    evaluations: int
    evaluated: float  # completions of one evaluation
    evaluated_longest: float  # positions of one, mean over tasks
    evaluated_batch: int  # completions that are asked for at a time


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
    budget, sampling, evaluation, vllm = config.budget, config.sampling, config.evaluation, config.sampler.vllm
    each = seconds if budget.currency == "seconds" else float(getattr(step, budget.currency))
    steps = float(math.floor(budget.limit / each + 1e-9)) if each > 0 else 0.0
    own, others = len(config.tasks), len(evaluation.tasks)  # a group counts as one
    positions = own * (evaluation.max_tokens or sampling.max_tokens)
    positions += others * (evaluation.tasks_max_tokens or LM_EVAL_TOKENS)
    return Workload(
        steps=steps, compute=steps * step.compute, generated=steps * step.tokens,
        unpriced=steps * step.rollouts * (prompt + completion) * _unpriced_passes(config),
        prompt=prompt, longest=sampling.max_tokens, rollouts=step.rollouts,
        engine=(vllm.sequences, vllm.tensor_parallel) if config.sampler.engine == "vllm" else None,
        evaluations=evaluations(evaluation.every),
        evaluated=float((own + others) * evaluation.problems * (1 + evaluation.samples)),
        evaluated_longest=positions / (own + others), evaluated_batch=evaluation.batch,
    )  # fmt: skip


def _unpriced_passes(config: TrialConfig) -> int:
    """Forward passes a trained token by which what runs differs from what docs/rules.md counts.

    A minibatch of several micro-batches is passed forward twice, and so are layers that are not kept; frozen matrices
    have no gradient of their own.
    """
    sampling, learner = config.sampling, config.learner
    rows = -(-sampling.prompts * sampling.group_size // learner.minibatches)
    again = rows > learner.micro_batch * config.resources.ranks
    return learner.updates_per_batch * (again + config.policy.gradient_checkpointing - (config.policy.lora is not None))
