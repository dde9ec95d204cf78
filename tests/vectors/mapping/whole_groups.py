"""Objectives over whole groups: regressions, discriminations, labels."""

from __future__ import annotations

import numpy as np

from tests.vectors.mapping import Case, Outcome, Run, maps, stack


@maps("gvpo")
def gvpo(case: Case) -> Run:
    """The recipe sums over the prompts, each of n completions."""
    case.params["n"]
    return Run(stack("gvpo", beta=case.params["beta"], average=False))


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
