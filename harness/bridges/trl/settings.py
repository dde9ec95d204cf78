"""Settings of TRL's GRPOConfig under a stack: those that would say twice what the method says are refused."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

from harness.bridges.state import BridgeState
from harness.errors import UsageError

__all__ = ["facts", "prepared", "refuse"]

# What the stack says instead. TRL would read them in the loss and the advantages that the bridge replaces.
STACK_SAYS = (
    "loss_type", "epsilon", "epsilon_high", "delta", "importance_sampling_level", "beta", "scale_rewards",
    "multi_objective_aggregation", "mask_truncated_completions", "top_entropy_quantile", "entropy_coef",
    "use_adaptive_entropy", "off_policy_mask_threshold", "use_bias_correction_kl", "sapo_temperature_pos",
    "sapo_temperature_neg", "vespo_k_pos", "vespo_lambda_pos", "vespo_k_neg", "vespo_lambda_neg",
)  # fmt: skip
REFERENCE = 1.0  # TRL loads the reference and scores it where beta is not 0; the number itself is read nowhere else


def refuse(args: Any, stack: str) -> None:
    """Raise UsageError for a setting that has no effect under a stack, or that the bridge cannot honour."""
    defaults = {field.name: field.default for field in dataclasses.fields(args)}
    for name in STACK_SAYS:
        value = getattr(args, name, None)
        if name in defaults and value != defaults[name]:
            raise UsageError(
                f"GRPOConfig({name}={value!r}) has no effect: the stack {stack} says it; leave it out, or set the "
                "parameter of the stack"
            )
    if args.use_vllm and args.vllm_importance_sampling_correction:
        raise UsageError(
            "GRPOConfig(vllm_importance_sampling_correction=True) would multiply the stack's loss; set it to False"
        )
    _fits(args)


def prepared(args: Any, *, reference: bool) -> Any:
    """The settings that TRL is started with: with a reference where the stack needs one."""
    if not reference:
        return args
    args = copy.copy(args)
    args.beta = REFERENCE
    return args


def facts(trainer: Any) -> BridgeState:
    """What hooks may read from `state`, out of a trainer's settings."""
    args = trainer.args
    return BridgeState(
        "trl",
        args.seed,
        group_size=trainer.num_generations,
        prompts_per_step=args.generation_batch_size // trainer.num_generations,
        temperature=trainer.temperature,
        max_tokens=trainer.max_completion_length,
        minibatches=args.steps_per_generation // args.gradient_accumulation_steps,
        updates_per_batch=trainer.num_iterations,
    )


def _fits(args: Any) -> None:
    """Every optimizer minibatch must lie within one generation batch and, of several, hold whole groups."""
    steps, window = args.steps_per_generation, args.gradient_accumulation_steps
    if steps % window:
        raise UsageError(
            f"steps_per_generation={steps} is not a multiple of gradient_accumulation_steps={window}, so an optimizer "
            f"step would mix generations and no weights could be computed; set it to {-(-steps // window) * window}"
        )
    rows = args.per_device_train_batch_size * window
    if steps > window and rows % args.num_generations:
        raise UsageError(
            f"a generation batch gives {steps // window} optimizer steps of {rows} rows a device, which cuts groups of "
            f"num_generations={args.num_generations}; make per_device_train_batch_size * gradient_accumulation_steps "
            "a multiple of it"
        )
