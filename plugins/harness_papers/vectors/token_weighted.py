"""Objectives that weigh tokens by their entropy or their future."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from harness.conformance.mapping import Case, Outcome, Run, maps, stack
from harness.host import build_stack
from harness.probe_inputs import as_tensor
from harness_papers.objectives.fipo import FIPO
from harness_papers.vectors.reductions import reduction, with_reduction


@maps("hapo")
def hapo(case: Case) -> Run:
    """The authors' function looks for outliers among the padding."""
    case.require(ddof=0)
    params = {"eps": case.params["eps"], "std": case.params["norm_adv_by_std"]}
    return Run(stack("hapo-heterogeneous", outlier_padding=True, **params))


@maps("hapo_loss")
def hapo_loss(case: Case) -> Outcome:
    """The authors' h is never negative; each of the two changes has a switch."""
    on = case.params["adaptive_clip"], case.params["adaptive_advantage"]
    alpha, beta = case.params["clip_alpha"], case.params["adv_beta"]
    text = stack(
        "hapo-heterogeneous", fold=True, pivot=case.params["entropy_pivot"], alpha=alpha if on[0] else 0.0,
        beta=beta if on[1] else 0.0, clip_low=case.params["clip_ratio_low"], clip_high=case.params["clip_ratio_high"],
        dual=case.params["clip_ratio_c"],
    )  # fmt: skip
    return with_reduction(case, text, reduction(case), compare=("loss", "grad_logp"))


@maps("fipo_weight")
def fipo_weight(case: Case) -> Run:
    gamma = case.params["gamma"]
    text = stack(
        "fipo", half_life=1e300 if gamma == 1 else -math.log(2) / math.log(gamma), clip=case.params["clip_range"],
        high_only=case.params["clip_high_only"], safety=case.params["safety_threshold"],
        ratio_limit=case.params["delta"],
    )  # fmt: skip
    return Run(text, probe=_influence)


def _influence(run: Run, case: Case) -> Mapping[str, Any]:
    """Weights and discounted sums of log-ratios."""
    plugin = next(plugin for _, plugin in build_stack(run.stack).plugins if isinstance(plugin, FIPO))
    mask = as_tensor(case.inputs["mask"])
    moved = as_tensor(case.inputs["logp"]) - as_tensor(case.inputs["logp_old"])
    advantages = as_tensor(case.inputs["advantages"])
    advantages = advantages[:, None] if advantages.dim() == 1 else advantages
    weight = plugin.influence(torch.where(mask > 0, moved, 0.0), advantages, mask)
    return {"weight": weight.numpy(), "future_kl": plugin.future(moved, mask).numpy()}
