"""Several rewards, and rewards shaped by lengths, texts and embeddings."""

from __future__ import annotations

import numpy as np

from harness.conformance.mapping import Case, Outcome, Run, Unmapped, maps, stack

AUTHORS = "NVlabs/GDPO"
UNDER_ROOT = "rsqrt(var+1e-8)"


@maps("gdpo")
def gdpo(case: Case) -> Outcome:
    """Over completions unless `whiten` says tokens; there groups of one keep their raw rewards."""
    params = case.params
    case.require(
        ddof=1, aggregation="normalize_then_sum", scale_rewards=("group", "gdpo"), eps_place="std+eps",
        estimator="grpo", nulls=(False, True), whiten=("completion", "token"),
        singleton=("raw_reward", "mean0", "mean0_std1", "zero"),
    )  # fmt: skip
    tokens = params.get("whiten") == "token"
    if tokens:
        case.require(whiten_eps=UNDER_ROOT)
    eps = params["eps"]
    closing = eps if tokens else params.get("whiten_eps", eps)
    columns = np.shape(case.inputs["rewards"])[1]
    if case.repo == AUTHORS and columns == 1:
        return Run(stack("grpo", beta=0, eps=eps)) if not tokens else Unmapped("two rewards or more, as in their code")
    text = stack(
        "gdpo", eps=eps, batch_eps=float(closing), tokens=tokens, single="raw" if tokens else "zero",
        leave_one_out=params.get("leave_one_out", False), missing="zero" if case.repo == AUTHORS else "skip",
    )  # fmt: skip
    return Run(text)


@maps("ddca")
def ddca(case: Case) -> Outcome:
    case.require(ddof=0, variant=("grpo", "rloo"))
    params = case.params
    baseline = "group" if params["variant"] == "grpo" else "others"
    text = stack("ddca", beta=params["beta"], dynamic=params["dynamic"], eps=params["eps"], baseline=baseline)
    return Run(text)


@maps("dra_grpo")
def dra_grpo(case: Case) -> Outcome:
    case.require(ddof=1)
    base = stack("grpo", beta=0, eps=case.params["eps"])
    return Run(f"{base}+{stack('dra-grpo', eps=case.params['sim_eps'])}", probe="shaped_advantages")


@maps("etr")
def etr(case: Case) -> Outcome:
    """Every token a step, every completion correct: the trend alone."""
    names = ("alpha", "beta", "gamma")
    text = stack("etr-entropy-trend", **{name: case.params[name] for name in names}, boundary="", normalize=False)
    entropy, lengths = _padded(case.inputs["step_entropy"])
    fields = {"step_entropy": None, "entropy": entropy, "lengths": lengths, "correct": np.ones(len(lengths), bool)}
    trend = {"entropy_trend": case.expected["reward"]}
    return Run(text, fields, expect=trend, compare=("entropy_trend",))


@maps("repetition_penalty")
def repetition_penalty(case: Case) -> Outcome:
    ids, lengths = _padded(case.inputs["token_ids"])
    fields = {"token_ids": None, "completion_ids": ids.astype(int), "lengths": lengths}
    return Run(stack("repetition-penalty", n=case.params["ngram"], penalty=case.params["max_penalty"]), fields)


def _padded(rows: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
    """Rows under one another, 0 behind them, and their lengths."""
    lengths = np.array([len(row) for row in rows])
    table = np.zeros((len(rows), max(lengths, default=0)))
    table[np.arange(table.shape[1]) < lengths[:, None]] = [value for row in rows for value in row]
    return table, lengths
