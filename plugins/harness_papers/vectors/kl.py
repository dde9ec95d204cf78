"""KL estimators, the KL in the reward, and the weight that follows a target."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.conformance.mapping import Case, Outcome, Run, Unmapped, maps, stack
from harness.probe_inputs import plain_batch
from harness_papers.objectives.kl_in_reward import KLReward

# The largest value of an estimate, by source: verl cuts k3 only, NeMo, AReaL and OpenRLHF cut every estimator.
CUT_ALL = {"NVIDIA-NeMo/RL", "inclusionAI/AReaL", "OpenRLHF/OpenRLHF"}
CUT_K3 = {"verl-project/verl", "alibaba/ROLL", "modelscope/ms-swift"}
LOW_VARIANCE = {"low_var_kl", "low_var"}
SYNONYMS = {"kl": "k1", "mse": "k2"}  # verl's older names


def kl_stack(case: Case, kind: str, beta: float = 1.0, **more: Any) -> str:
    """The `kl` plugin for an estimator as the case's source computes it."""
    name, plus = kind.removesuffix("+"), "+" if kind.endswith("+") else ""
    if case.repo in CUT_ALL or (name == "k3" and case.repo in CUT_K3) or name in LOW_VARIANCE:
        more = {"limit": case.params.get("output_clamp", 10.0), **more}
    plain = ("k3" if name in LOW_VARIANCE else name) + plus
    return stack("kl", beta=float(beta), kind=plain, **more)


@maps("kl_k1", "kl_k2", "kl_k3", "kl_abs", "kl_unbiased", "kl_k1_plus", "kl_k3_plus")
def kl(case: Case) -> Outcome:
    case.require(importance_ratio=(False, True), input_clamp=20.0)
    kind = str(case.params.get("estimator", case.method.removeprefix("kl_").replace("_plus", "+")))
    name, plus = kind.removesuffix("+"), "+" if kind.endswith("+") else ""
    kind = SYNONYMS.get(name, name) + plus
    if kind.removesuffix("+") not in {"k1", "k2", "k3", "abs", *LOW_VARIANCE}:
        return Unmapped(f"no KL estimator is called {kind!r} here")
    weight: dict[str, Any] = {}
    if case.params.get("importance_ratio", case.method == "kl_unbiased"):
        low, cap = case.params.get("ratio_clamp") or (0.0, None)
        if low:
            return Unmapped(f"the weight of a KL term has an upper bound only, not {low}")
        weight = {"weight": "ratio", "weight_cap": cap}
    case.params.get("ratio_clamp")
    case.params.get("output_clamp")
    return Run(kl_stack(case, kind, **weight))


@maps("kl_in_reward")
def kl_in_reward(case: Case) -> Outcome:
    case.require(kl=("k1", "kl"), estimator=("k1", "kl"))
    return Run(stack("kl-reward", beta=float(case.params["coef"])), probe="rewards", compare=("token_rewards",))


@maps("adaptive_kl_coef")
def adaptive_kl_coef(case: Case) -> Outcome:
    init, target, horizon = (float(case.params[name]) for name in ("init", "target", "horizon"))
    case.params["n_steps"]
    return Run(stack("kl-reward", beta=init, target=target, horizon=horizon), probe=coefficients)


def coefficients(run: Run, case: Case) -> dict[str, Any]:
    """The weight after each of the measured KLs: one token a completion, as far from the reference as the case says."""
    del run
    params = case.params
    plugin = KLReward(beta=params["init"], target=params["target"], horizon=params["horizon"])
    plugin.start()
    rows, found = np.ones((params["n_steps"], 1)), []
    for measured in np.ravel(case.inputs["kl"]):
        plugin.end_step(plain_batch({"mask": rows, "logp_old": -rows, "logp_ref": -rows - measured * rows}))
        found.append(plugin.coefficient)
    return {"coef": np.reshape(found, np.shape(case.expected["coef"]))}
