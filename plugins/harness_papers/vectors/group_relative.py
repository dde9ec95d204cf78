"""Group-relative estimators with one reward per completion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from harness import probe
from harness.conformance.mapping import Case, Outcome, Run, Slip, maps, stack
from harness_papers.vectors.reductions import reduction, trl_reduction


def sizes(case: Case) -> np.ndarray[Any, np.dtype[Any]]:
    """The size of the group of every row."""
    _, index, counts = np.unique(case.inputs["group"], return_inverse=True, return_counts=True)
    return counts[index]


@maps("reinforce_pp_baseline")
def reinforce_pp_baseline(case: Case) -> Run:
    case.require(minus_baseline=True, whiten="token", eps_place="rsqrt(var+eps)")
    if "var_floor" in case.params:
        case.require(ddof=0)
        params = {
            "population": True, "floor": True, "eps": case.params["var_floor"], "beta": float(case.params["kl_coef"]),
            "kl": "low_var" if case.params["kl"] == "k3" else case.params["kl"], "returns": False,
        }  # fmt: skip
        return Run(stack("reinforce-pp-baseline", **params))
    case.require(ddof=1)
    return Run(stack("reinforce-pp-baseline", eps=case.params["eps"], single="raw", count_eps=1e-8))


@maps("opo")
def opo(case: Case) -> Run:
    case.require(singleton="raw_reward")
    return Run(stack("opo", single="raw"))


@maps("grpo_passk")
def grpo_passk(case: Case) -> Run:
    case.require(ddof=1)
    return Run(stack("grpo-passk", scale=case.params["norm_adv_by_std"], eps=case.params["eps"]))


@maps("bnpo")
def bnpo(case: Case) -> Run:
    params = {"low": case.params["min_value"], "high": case.params["max_value"], "cap": case.params["weight_cap"]}
    return Run(stack("bnpo", **params, single="raw"))


@maps("gpg")
def gpg(case: Case) -> Run:
    if "alpha" in case.params:
        case.require(alpha="N/count_nonzero(reward)", f_norm=1.0)
        return Run(stack("gpg", alpha="rewards", single="raw"))
    expected = np.asarray(case.expected["advantages"]) / case.expected["inverse_alpha"]
    params = {"scale": case.params["scale_rewards"], "eps": case.params["eps"]}
    return Run(stack("gpg", **params), expect={"advantages": expected})


@maps("gpg_loss")
def gpg_loss(case: Case) -> Run:
    """Their divisor of the loss is our factor of the advantage; their KL is scaled with it."""
    case.require(agg="token-mean")
    share = case.params["inverse_alpha"]
    scaled = np.asarray(case.inputs["advantages"]) / share
    return Run(f"{stack('grpo', beta=case.params['beta'] / share)}+gpg", {"advantages": scaled, "logp_old": None})


@maps("maxrl")
def maxrl(case: Case) -> Run:
    return Run(stack("maxrl", eps=case.params["eps"], single="raw" if case.params["eps"] else "zero"))


@maps("maxrl_maclaurin")
def maxrl_maclaurin(case: Case) -> Run:
    return Run(stack("maxrl", form="maclaurin", order=case.params["order"], times_group=False))


@maps("maxrl_vr_cond")
def maxrl_conditional(_: Case) -> Run:
    return Run(stack("maxrl", form="conditional", times_group=False))


@maps("one_sided_grpo")
def one_sided_grpo(case: Case) -> Run:
    return Run(stack("p-norm", power=0.5, eps=case.params["eps"], single="raw"))


@maps("p_norm_clipped")
def p_norm_clipped(case: Case) -> Outcome:
    if len(set(sizes(case))) > 1:
        return Slip("every row is divided by the size of the first group, whatever its own")
    return Run(stack("p-norm", power=1.0, floor=case.params["floor"], eps=0.0, per_completion=True, single="raw"))


@maps("ds_grpo")
def ds_grpo(case: Case) -> Run:
    params = {"correct": case.params["coef_correct"], "wrong": case.params["coef_incorrect"]}
    return Run(stack("ds-grpo", **params, eps=case.params["eps"], population=case.params["ddof"] == 0))


@maps("asymre")
def asymre(case: Case) -> Run:
    return Run(stack("asymre", shift=case.params["baseline_shift"], single="raw"))


@maps("opmd")
def opmd(case: Case) -> Run:
    return Run(stack("opmd", baseline=case.params["baseline"], tau=case.params["tau"], single="raw"))


@maps("rec")
def rec(case: Case) -> Run:
    case.require(drop=None, ddof=0)
    return Run(stack("rec", scale=case.params["std_normalize"], eps=case.params["eps"]))


@maps("norm_mean_std_levels")
def norm_levels(case: Case) -> Run:
    params = {
        "mean": case.params["mean_level"] or "none", "std": case.params["std_level"] or "none",
        "leave_one_out": case.params["leave_one_out"], "population": not case.params["unbiased"],
    }  # fmt: skip
    return Run(stack("norm-levels", **params, eps=case.params["eps"]))


@maps("s_grpo_noise")
def s_grpo_noise(case: Case) -> Run:
    case.require(ddof=1)
    return Run(stack("s-grpo-noise", flip=case.params["p"], eps=case.params["eps"]))


@maps("dgpo")
def dgpo(case: Case) -> Run:
    params = {"temperature": case.params["temperature"], "weights": case.params["difficulty_weights"]}
    return Run(stack("dgpo-mathforge", **params, eps=case.params["eps"]))


@maps("edge_grpo")
def edge_grpo(case: Case) -> Run:
    """The advantages are given: every row is a group of its own that keeps its reward."""
    alone = {"group": list(range(len(case.inputs["mask"]))), "entropy": case.inputs["entropy"]}
    scaled = probe.advantages(
        "opo(single='raw')+edge-grpo(average='sum')", case.inputs["advantages"], mask=case.inputs["mask"], **alone
    )
    bounds = {"clip": case.params["epsilon_low"], "clip_high": case.params["epsilon_high"]}
    text = stack("grpo", **bounds, beta=case.params["beta"])
    case.params.get("loss_type"), case.params.get("max_completion_length")
    return Run(f"{text}+{trl_reduction(case)}", {"advantages": scaled})


@maps("copo")
def copo(case: Case) -> Run:
    case.require(ddof=1)
    params = {"consistency": case.params["entropy_coef"], "scale": case.params["norm_adv_by_std"]}
    compared = ("advantages", "global_advantages")
    return Run(
        stack("copo-consistency", blend="global", **params, eps=case.params["eps"]), probe=_copo, compare=compared
    )


def _copo(run: Run, case: Case) -> Mapping[str, Any]:
    """The local advantage, and the global one as what the loss does with it where the policy has not moved."""
    mask = np.asarray(case.inputs["mask"])
    still = np.zeros(mask.shape)
    _, slope = probe.objective(run.stack, **case.inputs, logp=still, logp_old=still)
    return {"advantages": probe.advantages(run.stack, **case.inputs), "global_advantages": -slope * mask.sum()}


@maps("copo_loss")
def copo_loss(case: Case) -> Run:
    mode = case.params["mode"]
    params = {
        "sharpness": case.params["k"], "threshold": case.params["b"], "clip_low": case.params["clip_ratio_low"],
        "clip_high": case.params["clip_ratio_high"], "dual": case.params["clip_ratio_c"],
        "blend": "soft" if "soft" in mode else "global" if "global" in mode else "local",
        "forced": "wrong" if "zero" in mode else "flat" if "forced" in mode else "none",
    }  # fmt: skip
    case.require(agg="token-mean")
    return Run(f"{stack('copo-consistency', **params)}+{reduction(case)}")


@maps("gigpo")
def gigpo(case: Case) -> Run:
    case.require(ddof=1, mode=("mean_norm", "mean_std_norm"))
    params = {"weight": case.params["step_weight"], "scale": case.params["mode"] == "mean_std_norm"}
    return Run(stack("gigpo", **params, eps=case.params["eps"], single="raw"))


@maps("igpo_discounted")
def igpo_discounted(case: Case) -> Run:
    case.require(ddof=1)
    params = {"gamma": case.params["gamma"], "scale": case.params["norm_adv_by_std"], "eps": case.params["eps"]}
    return Run(stack("grpo-discounted", **params))
