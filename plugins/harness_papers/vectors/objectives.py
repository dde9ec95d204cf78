"""Clipped surrogates, CISPO, GSPO and the plain policy gradient, with the reductions and KL terms of their sources."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.conformance.mapping import Case, Outcome, Run, Unmapped, maps, stack
from harness_papers.vectors.kl import kl_stack
from harness_papers.vectors.reductions import reduction, trl_reduction, with_reduction

CLAMPS = {"verl-project/verl", "OpenRLHF/OpenRLHF", "modelscope/Trinity-RFT"}  # the log-ratio, at +-20
UNBOUNDED = 1e30
BOUNDS = ("threshold", "thresholds", "bounds", "low", "high", "lower", "upper")


def clipped(case: Case, low: float, high: float, **more: Any) -> str:
    """`ppo-clip` with or without the clamp of the log-ratio, as the case's source has it."""
    more = {name: value for name, value in more.items() if value is not None}
    limit = {} if case.repo in CLAMPS else {"log_limit": None}
    return stack("ppo-clip", clip_low=low, clip_high=high, **more, **limit)


def rollout_weights(case: Case) -> tuple[str, dict[str, Any]]:
    """What multiplies the policy loss where `rollout_is_weights` are given: `tis` without a cap, and a sampler whose
    probabilities give these weights.
    """
    weights = case.inputs.get("rollout_is_weights")
    if weights is None:
        return "", {}
    old = np.asarray(case.inputs["logp_old"], dtype=np.float64)
    given = np.asarray(weights, dtype=np.float64)
    given = given.reshape(*given.shape, *[1] * (old.ndim - given.ndim))
    return f"+tis(cap={UNBOUNDED!r})", {"logp_sampler": old - np.log(given), "rollout_is_weights": None}


def trl(case: Case, policy: str, **run: Any) -> Outcome:
    """A policy loss of TRL: k3 per token where beta > 0, and the reduction of `loss_type`."""
    case.require(use_vllm=(False, True), num_iterations=1)
    beta = case.params.get("beta", 0.0)
    text, fields = rollout_weights(case)
    text = policy + text
    if beta:
        weight = {"weight": "ratio"} if case.params.get("use_bias_correction_kl", False) else {}
        text += "+" + kl_stack(case, "k3", beta, **weight)
    case.params.get("use_bias_correction_kl")
    case.params.get("max_completion_length")
    return with_reduction(case, text, trl_reduction(case), fields={"num_items_in_batch": None, **fields}, **run)


@maps("grpo_loss", "bnpo_loss", "dapo_loss", "dr_grpo_loss", "grpo_loss_tis")
def trl_grpo(case: Case) -> Outcome:
    case.require(importance_sampling_level="token")
    low, high = case.params["epsilon_low"], case.params["epsilon_high"]
    return trl(case, clipped(case, low, high, cap=case.params.get("delta")))


@maps("ppo_clip")
def ppo_clip(case: Case) -> Outcome:
    if case.repo == "NVIDIA-NeMo/RL":
        return nemo(case)
    case.require(use_pg_clip_range=(False, True))
    corrected = rollout_correction(case)
    if corrected is None:
        return Unmapped(f"no rollout correction is as {case.params['rollout_correction']!r} says")
    clip = case.params.get("pg_clip", case.params.get("clip_ratio", 0.2))
    ranged = case.params.get("use_pg_clip_range", True)
    low = case.params.get("pg_clip_low" if "pg_clip_low" in case.params else "clip_ratio_low")
    high = case.params.get("pg_clip_high" if "pg_clip_high" in case.params else "clip_ratio_high")
    dual = case.params.get("clip_ratio_c")
    if case.params.get("dual_clip_loss", False):
        dual = 1 + 2 * clip  # ROLL's constant
    below, above = (clip if end is None or not ranged else float(end) for end in (low, high))
    policy = clipped(case, below, above, dual=dual)
    text, fields = rollout_weights(case)
    return with_reduction(case, policy + text + corrected, reduction(case), fields=fields)


def rollout_correction(case: Case) -> str | None:
    """OpenRLHF's correction as the end of a stack: its kind and two bounds, in one param or beside it; None if unknown.

    Its seq-mask-tis leaves out completions by their geometric mean and keeps the other weights as they are.
    """
    rule = case.params.get("rollout_correction")
    if rule is None:
        return ""
    beside = {name: case.params[name] for name in BOUNDS if name in case.params}
    rule = {**beside, **(rule if isinstance(rule, dict) else {"type": rule})}
    kind = rule.get("type") or rule.get("mode")
    pair = next((rule[name] for name in BOUNDS[:3] if name in rule), None)
    low, high = pair or [rule.get("low", rule.get("lower", 0.0)), rule.get("high", rule.get("upper"))]
    if kind == "tis" and high is not None:
        return "+" + stack("tis", floor=low or 0.0, cap=high)
    if kind == "icepop":
        return "+" + stack("icepop", low=low or 0.0, high=UNBOUNDED if high is None else high)
    if kind == "seq-mask-tis":
        return f"+{stack('geo-rs', low=low, high=high, weigh='token', denominator='all')}"
    return None


@maps("delta_l_loss")
def delta_l_loss(case: Case) -> Outcome:
    case.require(agg="sum/(N*T) incl. padding")
    rows, tokens = np.shape(case.inputs["mask"])
    policy = clipped(
        case, case.params["clip_ratio_low"], case.params["clip_ratio_high"], dual=case.params["clip_ratio_c"]
    )
    return Run(f"{policy}+{stack('token-mean', tokens=rows * tokens)}")


def nemo(case: Case) -> Outcome:
    """NeMo's loss: a token mean or a mean over rows, 1e-8 in every divisor, and a KL with a score term of its own."""
    bounds: list[Any] = [case.params.get(f"ratio_clip_{end}") for end in ("min", "max")]
    text = clipped(case, *bounds, dual=case.params.get("ratio_clip_c"))
    beta, kind = case.params.get("reference_policy_kl_penalty", 0.0), case.params.get("reference_policy_kl_type", "k3")
    if beta:
        text += "+" + kl_stack(case, kind, beta, weight="score")
    return Run(f"{text}+{nemo_reduction(case)}")


def nemo_reduction(case: Case) -> str:
    if case.params.get("token_level_loss", True):
        return stack("token-mean", eps=1e-8)
    return stack("seq-mean-token-mean", eps=1e-8, row_eps=1e-8, empty="count")


@maps("cispo")
def cispo(case: Case) -> Outcome:
    params = case.params
    if case.repo == "huggingface/trl":
        params.get("epsilon_low")  # no lower bound there
        return trl(case, stack("cispo", cap=params["epsilon_high"]))
    case.require(use_cispo=True, unified_mask=True)
    names = {"NVIDIA-NeMo/RL": "ratio_clip_{}", "alibaba/ROLL": "cispo_epsilon_{}"}.get(case.repo, "clip_ratio_{}")
    ends = ("min", "max") if case.repo == "NVIDIA-NeMo/RL" else ("low", "high")
    params.get("clip_ratio")
    low, high = (params[names.format(end)] for end in ends)
    unified = bool(params.get("cispo_use_unified_mask", params.get("unified_mask", False)))
    text = stack("cispo", cap=1 + high, floor=1 - low, mask_clipped=unified)
    if case.repo == "NVIDIA-NeMo/RL":
        return Run(f"{text}+{nemo_reduction(case)}")
    more, fields = rollout_weights(case)
    return with_reduction(case, text + more, reduction(case), fields=fields)


@maps("gspo")
def gspo(case: Case) -> Outcome:
    case.require(
        importance_sampling_level=("sequence", "sequence_token"), sequence_level_importance_ratios=True,
        token_level_loss=False,
    )  # fmt: skip
    names = {"huggingface/trl": "epsilon_{}", "NVIDIA-NeMo/RL": "ratio_clip_{}"}.get(case.repo, "clip_ratio_{}")
    ends = ("min", "max") if case.repo == "NVIDIA-NeMo/RL" else ("low", "high")
    case.params.get("clip_ratio")
    low, high = (case.params[names.format(end)] for end in ends)
    per_token = case.repo == "verl-project/verl" or case.params.get("importance_sampling_level") == "sequence_token"
    eps = {"eps": 1e-8} if case.repo == "NVIDIA-NeMo/RL" else {}
    text = stack("gspo-token" if per_token else "gspo", clip_low=low, clip_high=high, **eps)
    if case.repo == "huggingface/trl":
        return trl(case, text)
    if case.repo == "NVIDIA-NeMo/RL":
        return Run(f"{text}+{nemo_reduction(case)}")
    more, fields = rollout_weights(case)
    if case.params.get("rollout_correction") is not None:
        fields["logp_old"] = case.inputs["logp_rollout"]  # OpenRLHF's ratio is to the sampler then
    agg = "seq-mean-token-mean" if case.repo == "verl-project/verl" else None  # whatever was asked for
    case.params.get("agg")
    return with_reduction(case, text + more, reduction(case, agg), fields=fields)


@maps("rloo_sequence_loss")
def rloo_sequence_loss(case: Case) -> Outcome:
    low, high = case.params["epsilon_low"], case.params["epsilon_high"]
    return Run(f"{stack('rloo', beta=0, clip=low, clip_high=high)}+{stack('seq-mean-token-sum', empty='count')}")


@maps("reinforce_pg")
def reinforce_pg(case: Case) -> Outcome:
    text, fields = rollout_weights(case)
    return with_reduction(case, "reinforce" + text, reduction(case), fields=fields)


@maps("overlong_penalty")
def overlong_penalty(case: Case) -> Outcome:
    if "soft_punish_cache" in case.params:  # TRL's column, which stops at -1
        longest, buffer, factor, floor = case.params["max_completion_len"], case.params["soft_punish_cache"], 1.0, -1.0
    else:
        longest, buffer, factor = (case.params[name] for name in ("max_length", "overlong_tokens", "factor"))
        floor = None
    if not 0 < buffer <= longest:
        return Unmapped(f"a buffer of {buffer} of {longest} tokens")
    text = stack("dapo", overlong=buffer / longest, overlong_weight=float(factor), overlong_floor=floor)
    return Run(text, {"max_tokens": longest})
