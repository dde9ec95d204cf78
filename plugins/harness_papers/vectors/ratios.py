"""Ratio surrogates, entropy methods and corrections for what another policy sampled."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from harness import probe
from harness.conformance.mapping import Case, Outcome, Run, Slip, Unmapped, maps, stack
from harness.conformance.vectors import Case as PlainCase
from harness_papers.vectors.objectives import clipped, trl
from harness_papers.vectors.reductions import UNMASKED, reduction, with_reduction

TRL, ROLL = "huggingface/trl", "alibaba/ROLL"
COUNTED = stack("seq-mean-token-mean", empty="count")
GRADIENT = ("grad_logp",)  # where a loss multiplies logp by detached factors, its value says nothing


def empty_rows(case: Case) -> bool:
    return not np.asarray(case.inputs["mask"]).any(-1).all()


def clips(case: Case) -> tuple[float, float]:
    """The lower and upper clip range, whatever they are called."""
    for low, high in (("epsilon_low", "epsilon_high"), ("clip_ratio_low", "clip_ratio_high"),
                      ("eps_clip_low", "eps_clip_high"), ("ratio_clip_min", "ratio_clip_max")):  # fmt: skip
        if low in case.params:
            case.params.get("clip_ratio")
            return case.params[low], case.params[high]
    raise KeyError("clip range")


# -- surrogates --------------------------------------------------------------------------------------------------


@maps("luspo")
def luspo(case: Case) -> Outcome:
    case.require(importance_sampling_level="sequence", loss_type="luspo")
    low, high = clips(case)
    if case.params.get("beta", 0.0):
        return Slip("TRL broadcasts the [N, 1] loss against the [N, T] KL, which is unmasked and averaged over padding")
    return Run(f"{stack('luspo', clip_low=low, clip_high=high)}+{stack('seq-mean-token-sum', empty='count')}")


@maps("gmpo")
def gmpo(case: Case) -> Outcome:
    if case.repo == "callsys/GMPO":
        kinds: dict[str, dict[str, Any]] = {
            "gmpo": {}, "gmpo_noclip": {"clip": "none"}, "gmpo_seqclip": {"clip": "sequence"},
            "gmpo_without_norm": {"normalize": False},
        }  # fmt: skip
        case.require(variant=tuple(kinds))
        clip = case.params["clip"]
        return Run(f"{stack('gmpo', clip_low=clip, clip_high=clip, **kinds[case.params['variant']])}+{COUNTED}")
    low, high = clips(case)
    case.require(agg="mean over rows")
    method = stack("gmpo", clip_low=low, clip_high=high, eps=0.0 if case.repo == TRL else 1e-8)
    if case.repo != TRL:
        return Run(f"{method}+{COUNTED}")
    # TRL adds the advantage of an empty row, a constant, to the value.
    return trl(case, method, compare=GRADIENT) if empty_rows(case) else trl(case, method)


@maps("sapo")
def sapo(case: Case) -> Outcome:
    case.require(loss_type="sapo", level=("token", "sequence"))
    if case.repo == TRL:
        taus = {"tau_pos": case.params["sapo_temperature_pos"], "tau_neg": case.params["sapo_temperature_neg"]}
        return trl(case, stack("sapo", **taus))
    taus = {name: case.params[name] for name in ("tau_pos", "tau_neg")}
    method = stack("sapo", **taus, level=case.params.get("level", "token"))
    return with_reduction(case, method, reduction(case))


@maps("vespo")
def vespo(case: Case) -> Outcome:
    case.require(loss_type="vespo")
    shape = {ours: case.params[f"vespo_{ours}"] for ours in ("k_pos", "lambda_pos", "k_neg", "lambda_neg")}
    if "rollout_is_weights" in case.given:
        return sampled_vespo(case, stack("vespo", **shape, against="sampler"))
    # The gradient of these numbers runs through phi, which TRL and the authors detach (no_grad); the value does not.
    return trl(case, stack("vespo", **shape, against="old"), compare=("loss",))


def sampled_vespo(case: Case, method: str) -> Outcome:
    """With rollout weights the ratio is that to the sampler; TRL sums their logarithms without the mask."""
    weights = np.asarray(case.inputs["rollout_is_weights"], dtype=np.float64)
    padding = np.broadcast_to(weights, np.shape(case.inputs["mask"]))[np.asarray(case.inputs["mask"]) == 0]
    if (padding != 1).any():
        return Slip("the rollout weights of padding enter the ratio of the completion")
    sampler = np.asarray(case.inputs["logp_old"], dtype=np.float64) - np.log(weights)
    plain = dataclasses.replace(case, inputs={**case.inputs, "rollout_is_weights": None, "logp_sampler": sampler})
    found = trl(plain, method, compare=("loss",))
    if isinstance(found, Run):
        fields = {**found.fields, "rollout_is_weights": None, "logp_sampler": sampler}
        return dataclasses.replace(found, fields=fields)
    return found


@maps("dro")
def dro(case: Case) -> Outcome:
    return with_reduction(case, stack("dro", beta=case.params["policy_loss"]["dro_beta"]), reduction(case))


@maps("opmd_kimi")
def opmd_kimi(case: Case) -> Outcome:
    if case.params["agg"] == "token-mean":
        return UNMASKED
    method = stack("opmd-kimi", tau=case.params["kimi15_tau"], level="token")
    return with_reduction(case, method, reduction(case))


# -- entropy -----------------------------------------------------------------------------------------------------


@maps("clip_cov")
def clip_cov(case: Case) -> Outcome:
    settings = case.params["policy_loss"]
    low, high = clips(case)
    method = stack(
        "clip-cov", share=settings["clip_cov_ratio"], low=settings["clip_cov_lb"], high=settings["clip_cov_ub"],
        clip=low, clip_high=high,
    )  # fmt: skip
    if settings["clip_cov_ratio"] < 1:
        return Unmapped("which candidates are drawn depends on the generator")
    return with_reduction(case, method, reduction(case))


@maps("kl_cov")
def kl_cov(case: Case) -> Outcome:
    settings = case.params["policy_loss"]
    method = stack("kl-cov", share=settings["kl_cov_ratio"], coef=settings["ppo_kl_coef"])
    return with_reduction(case, method, reduction(case))


@maps("topk_entropy_mask")
def topk_entropy_mask(case: Case) -> Outcome:
    low, high = clips(case)
    share = case.params["top_entropy_quantile"]
    entropy = np.asarray(case.inputs["entropy"])[np.asarray(case.inputs["mask"]) > 0]
    threshold = np.quantile(entropy, 1 - share)
    if np.float32(threshold) > threshold:
        # TRL compares float64 entropies with a threshold rounded to float32: a token right at it is dropped.
        share -= 1e-9
    mask = stack("high-entropy-tokens", share=share)
    return trl(case, f"{clipped(case, low, high)}+{mask}")


# -- what another policy sampled ---------------------------------------------------------------------------------


@maps("tis_pg")
def tis_pg(case: Case) -> Outcome:
    if case.repo == ROLL:
        method = stack("cispo", cap=case.params["tis_upper_bound"], floor=case.params["tis_lower_bound"])
        return with_reduction(case, method, reduction(case))
    case.require(mode="pg_no_mask")
    clips(case)
    method = stack("cispo", cap=case.params["clip_ratio_c"])
    fields = {"logp_old": case.inputs["logp_rollout"]}
    return with_reduction(case, method, reduction(case), fields=fields, compare=GRADIENT)


@maps("opsm")
def opsm(case: Case) -> Outcome:
    low, high = clips(case)
    if case.repo == TRL:
        mask = stack("opsm", delta=case.params["off_policy_mask_threshold"])
        return trl(case, f"{clipped(case, low, high)}+{mask}")
    mask = stack("opsm", delta=case.params["delta"], against="old")
    return with_reduction(
        case, f"{clipped(case, low, high, dual=case.params.get('clip_ratio_c'))}+{mask}", reduction(case)
    )


@maps("decoupled_ppo")
def decoupled_ppo(case: Case) -> Outcome:
    low, high = clips(case)
    rule = case.params["rejection_sampling"]
    base = stack("decoupled-ppo", clip=low, clip_high=high, dual=case.params.get("c_clip"), weigh=False)
    fields = {"logp_old": case.inputs["logp_prox"], "logp_sampler": case.inputs["logp_behave"]}
    return Run(f"{base}+token-mean{_areal(rule)}", fields)


def _areal(rule: dict[str, Any] | None) -> str:
    """AReaL's rejection setting; the divisor keeps what is rejected."""
    if rule is None:
        return ""
    level = {"token": "token", "sequence": "geometric"}[rule["level"]]
    if rule["action"] == "clamp":
        return "+" + stack("tis", cap=rule["upper"], floor=rule["lower"] or 0.0, level=level)
    if rule["metric"] == "ratio":
        return "+" + stack("mis", low=rule["lower"], high=rule["upper"], level=level)
    reject = stack(
        "rollout-rejection", measure=rule["metric"].removeprefix("kl_"),
        level="token" if level == "token" else rule["agg"],
        low=rule["lower"], high=rule["upper"], denominator="all",
    )  # fmt: skip
    return f"+{reject}+tis(cap=1e9)"


def factor(run: Run, case: PlainCase) -> dict[str, Any]:
    """What a wrapper multiplies a token loss of 1 by."""
    old, mask = case.inputs["logp_old"], case.inputs["mask"]
    losses, _ = probe.token_loss(
        run.stack, logp=old, logp_old=old, logp_sampler=case.inputs["logp_rollout"], mask=mask,
        advantages=(-np.ones_like(np.asarray(mask))).tolist(),
    )  # fmt: skip
    if case.params.get("level") == "sequence" and case.params.get("batch_normalize"):
        # verl takes the mean over rows of means over tokens, each with 1e-8 in its divisor.
        lengths = np.asarray(mask).sum(-1)
        losses = losses / (losses[:, 0] * lengths / (lengths + 1e-8))[lengths > 0].mean()
    return {"weight": losses}


@maps("rollout_is_weights")
def rollout_is_weights(case: Case) -> Outcome:
    case.require(level=("token", "sequence"))
    bounds = str(case.params["threshold"]).split("_")
    shared = {"level": case.params["level"], "normalize": case.params["batch_normalize"]}
    if len(bounds) == 1:
        return Run(stack("tis", cap=float(bounds[0]), **shared), probe=factor)
    return Run(stack("mis", low=float(bounds[0]), high=float(bounds[1]), **shared), probe=factor)


@maps("rollout_rejection")
def rollout_rejection(case: Case) -> Outcome:
    modes = case.params["mode"].split(",")
    thresholds = str(case.params["threshold"]).split(",")
    if len(thresholds) == 1:
        thresholds = thresholds * len(modes)
    tests = [_rejection(mode, bound) for mode, bound in zip(modes, thresholds, strict=True)]
    return Run("+".join(tests), {"logp_sampler": case.inputs["logp_rollout"]}, probe="train_on")


def _rejection(mode: str, threshold: str) -> str:
    """Verl's name of a test: token_k1, seq_mean_k3 ...; bounds of k1 are those of the ratio."""
    *where, measure = mode.split("_")
    bounds = [float(bound) for bound in threshold.split("_")]
    level = "token" if where == ["token"] else where[1]
    if measure == "k1":
        low, high = (math.log(bound) for bound in (bounds if len(bounds) == 2 else (1 / bounds[0], bounds[0])))
    else:
        low, high = None, bounds[-1]
    return stack("rollout-rejection", measure=measure, level=level, low=low, high=high)
