"""Surrogates that hold the policy near the old one by other means than one clip range."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from harness import probe
from harness.conformance.mapping import Case, Outcome, Run, maps, stack
from harness_papers.off_policy.a3po import A3PO
from harness_papers.vectors.reductions import reduction, with_reduction


@maps("m2po")
def m2po(case: Case) -> Outcome:
    """The authors read a row's sign from its first advantage; the bounds may be absent, which is no bound."""
    floors = {name: case.params[name] or 0.0 for name in ("miniclip_low", "miniclip_high")}
    text = stack(
        "m2po", form="clip", budget=case.params["M2_budget"],
        floor_low=floors["miniclip_low"], floor_high=floors["miniclip_high"],
    )  # fmt: skip
    return with_reduction(case, text, reduction(case))


@maps("m2po_mask")
def m2po_mask(case: Case) -> Run:
    return Run(
        stack("m2po", form="mask-stale", budget=case.params["threshold"]),
        {"logp_old": case.inputs["logp_prox"], "logp_sampler": case.inputs["logp_behave"]},
        probe=_kept,
    )


def _kept(run: Run, case: Case) -> Mapping[str, Any]:
    """At ratio 1 and advantage 1 the token loss is -1 where a token stays."""
    mask = np.asarray(case.inputs["mask"], dtype=float)
    losses, _ = probe.token_loss(
        run.stack, logp=run.fields["logp_old"], mask=mask, advantages=np.ones(len(mask)), **run.fields
    )
    return {"keep": -losses}


@maps("dppo_tv")
def dppo_tv(case: Case) -> Outcome:
    """Stable-RL measures against the sampling policy, verl against the old one; only gradients mean something."""
    case.require(mode="dppo_binary_tv")
    case.params.get("clip_ratio")
    text = stack(
        "dppo-divergence", low=case.params["clip_ratio_low"], high=case.params["clip_ratio_high"],
        cap=case.params["clip_ratio_c"], anchor="sampler" if "logp_rollout" in case.given else "old",
    )  # fmt: skip
    return with_reduction(case, text, reduction(case))


@maps("dppo_kl")
def dppo_kl(case: Case) -> Outcome:
    case.require(mode="dppo_binary_kl")
    case.params.get("clip_ratio")
    text = stack(
        "dppo-divergence", divergence="kl", low=case.params["clip_ratio_low"], high=case.params["clip_ratio_high"],
        cap=case.params["clip_ratio_c"], anchor="sampler" if "logp_rollout" in case.given else "old",
    )  # fmt: skip
    return with_reduction(case, text, reduction(case))


@maps("dppo_tv_kimi", "ipo_mask")
def prime_rl(case: Case) -> Run:
    both = case.method == "ipo_mask"
    low, high = ("ipo_threshold",) * 2 if both else ("dppo_mask_low", "dppo_mask_high")
    text = stack(
        "dppo-divergence", low=case.params[low], high=case.params[high], cap=None, anchor="old", through=True,
        sides="both" if both else "pushed", penalty=case.params["kl_tau"],
    )  # fmt: skip
    scaled = case.params["adv_tau"] * np.asarray(case.inputs["advantages"], dtype=float)
    return Run(f"{text}+token-mean", {"advantages": scaled})


@maps("a3po_prox")
def a3po_prox(case: Case) -> Run:
    mixture = {"loglinear": "log", "linear": "linear"}[case.params["method"]]
    case.params["current_version"]
    return Run(stack("a3po", mixture=mixture), probe=_proximal)


def _proximal(run: Run, case: Case) -> Mapping[str, Any]:
    """The helper that the loss is made of, given the age of every token (none where its version is below 0)."""
    versions = torch.tensor(case.inputs["versions"], dtype=torch.float64)
    age = torch.where(versions < 0, torch.zeros_like(versions), case.params["current_version"] - versions)
    logp, behaviour = (torch.tensor(case.inputs[name], dtype=torch.float64) for name in ("logp", "logp_behave"))
    return {"logp_prox": A3PO(mixture="linear" if "linear" in run.stack else "log").proximal(logp, behaviour, age)}


@maps("rpg_rkl", "rpg_urkl", "rpg_fkl", "rpg_ufkl", "rpg_clip_fkl", "rpg_clip_urkl", "rpg_clip_rkl", "rpg_clip_ufkl")
def rpg(case: Case) -> Outcome:
    """The KL's name says the form; the value of these losses is arbitrary."""
    name = case.params["kl_type"].removeprefix("rpg_rf_")
    kl, _, clipping = name.partition("_clip_ppo")
    clips = "_clip_ppo" in name
    text = stack(
        "rpg", kl=kl, form="clip" if clips else "reinforce", branch="product" if clipping == "_v3" else "advantage",
        beta=case.params["kl_coef"], clip_low=case.params["clip_ratio_low"],
        clip_high=case.params["clip_ratio_high"], dual=case.params["clip_ratio_c"],
    )  # fmt: skip
    return with_reduction(case, text, reduction(case), compare=("grad_logp",))
