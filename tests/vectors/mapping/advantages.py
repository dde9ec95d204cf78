"""Advantages of one reward per completion: GRPO and its relatives."""

from __future__ import annotations

from tests.vectors.mapping import Case, Run, maps, stack


@maps("grpo_batch_std")
def grpo_batch_std(case: Case) -> Run:
    case.require(
        ddof=1, eps_place="std+eps", nulls=False, aggregation="sum_then_normalize", scale_rewards="batch",
        mean="group", std="batch", estimator="grpo",
    )  # fmt: skip
    return Run(stack("grpo", beta=0, scale="batch", eps=case.params["eps"]))


@maps("remax")
def remax(case: Case) -> Run:
    return Run("remax(beta=0)", {"baseline": None, "greedy_reward": case.inputs["baseline"]})
