"""Objectives over whole groups: regressions, discriminations, labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from harness import Groups, PolicyOutput
from harness.conformance.mapping import Case, Outcome, Run, maps, stack
from harness.host import build_stack
from harness.probe_inputs import as_tensor, plain_batch
from harness_papers.off_policy.a_star_po import AStarPO


@maps("gvpo")
def gvpo(case: Case) -> Run:
    """The recipe sums over the prompts, each of n completions."""
    case.params["n"]
    return Run(stack("gvpo", beta=case.params["beta"], average=False))


@maps("rebel")
def rebel(case: Case) -> Run:
    """The authors' code multiplies the reward by eta; the paper divides the log-ratio by it."""
    return Run(stack("rebel", eta=case.params.get("eta", 1.0), divide=False))


@maps("a_star_po")
def a_star_po(case: Case) -> Run:
    """The value is given, so the advantage is the reward minus it."""
    beta = case.params["beta2"] if "beta2" in case.params else case.params["beta"]
    rewards = np.asarray(case.inputs["rewards"], dtype=float).reshape(len(case.inputs["mask"]), -1).sum(1)
    value = np.asarray(case.inputs["v_star"], dtype=float).reshape(-1)
    return Run(stack("a-star-po", beta=beta), {"advantages": rewards - value})


@maps("real_loss")
def real_loss(case: Case) -> Run:
    return Run(stack("real", tau=case.params["tau"], labels="advantage"))


@maps("disco_logl", "disco_lratio", "discob_logl", "discob_lratio")
def disco(case: Case) -> Outcome:
    """The authors' losses have another value; only the gradient is the paper's."""
    soft = {"negatives": "mean"} if case.method.startswith("discob") else {"tau": case.params["tau"]}
    text = stack(
        "disco", scoring="ratio" if case.method.endswith("lratio") else "logp", beta=case.params["beta"],
        delta=case.params["delta"], kl={"kl": "k1", "low_var_kl": "k3"}[case.params["kl_type"]], **soft,
    )  # fmt: skip
    return Run(text, compare=("grad_logp",))


@maps("drpo_length")
def drpo_length(case: Case) -> Run:
    """The authors' function takes the low-variance KL where it is not told another."""
    names = {"delta": "delta", "beta": "beta", "tau": "tau", "lam": "Lambda"}
    params = {name: case.params[theirs] for name, theirs in names.items()}
    length = float(np.shape(case.inputs["mask"])[1])
    kl = {"kl": "k1", "low_var_kl": "k3"}[case.params.get("kl_type", "low_var_kl")]
    return Run(stack("drpo-length", length=length, kl=kl, **params), compare=("grad_logp",))


@maps("flowrl")
def flowrl(case: Case) -> Run:
    """The authors' code computes a clipped weight and uses the unclipped one; verl's recipe caps it at 10."""
    case.params.get("clip_ratio")
    cap = {"raw": None, "clamp_max_10": 10.0}[case.params["weight"]]
    return Run(stack("flowrl", beta=case.params["beta"], cap=cap, eps=1e-8), probe=_with_partition)


def _with_partition(run: Run, case: Case) -> Mapping[str, Any]:
    """Loss and gradients where ln Z is given instead of computed by the module."""
    inputs = {name: value for name, value in case.inputs.items() if name != "log_z"}
    batch = plain_batch(inputs)
    logp = as_tensor(inputs["logp"]).requires_grad_()
    log_z = as_tensor(case.inputs["log_z"]).requires_grad_()
    modules = {"log_z": log_z.reshape(len(batch))}
    output = PolicyOutput(logp=logp, logp_old=as_tensor(inputs["logp_old"]), mask=batch.mask, modules=modules)
    hooks = build_stack(run.stack).caller()
    loss = hooks.loss(batch=batch.replace(weights=hooks.aggregate(batch=batch)), output=output)
    slopes = torch.autograd.grad(loss, (logp, log_z))
    return {"loss": loss.item(), "grad_logp": slopes[0].numpy(), "grad_log_z": slopes[1].numpy()}


@maps("a_star_po_vstar")
def a_star_po_vstar(case: Case) -> Run:
    return Run(stack("a-star-po", beta_value=case.params["beta1"]), probe=_values)


def _values(_: Run, case: Case) -> Mapping[str, Any]:
    """The values that `start` computes from what it sampled, prompt by prompt."""
    rows = case.inputs["rewards_per_prompt"]
    keys = torch.repeat_interleave(torch.arange(len(rows)), torch.tensor([len(row) for row in rows]))
    rewards = as_tensor([reward for row in rows for reward in row])
    return {"v_star": AStarPO(beta_value=case.params["beta1"]).value(Groups(keys), rewards).numpy()}
