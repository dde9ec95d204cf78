"""How the sources average token losses: the aggregator that a case's source, `agg` and divisors name."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.conformance.mapping import Case, Outcome, Run, Slip, Unmapped, maps, stack

ROW_EPS = 1e-8  # verl, OpenRLHF, NeMo and ROLL add it to a row's number of tokens
COUNT_EPS = {"modelscope/Trinity-RFT", "hijih/copo-code"}  # and these to the number of tokens
ROLL = "alibaba/ROLL"
UNMASKED = Slip("ROLL's token mean does not apply the mask, so padding enters the loss")
MID_2025 = "(mid-2025 verl variant)"


def reduction(case: Case, agg: str | None = None) -> str | None:
    """The aggregator, as a stack, of `agg` (by default params["agg"]); None if there is none for it.

    Mid-2025 verl counts empty rows and divides the sum over rows by the padded width only; ROLL does so too and adds
    1e-8 to the number of rows; the others are as the present verl.
    """
    name = str(case.params["agg"] if agg is None else agg)
    if name.endswith(MID_2025) or case.params.get("variant") == "verl_mid_2025":
        return _mid_2025(name.removesuffix(MID_2025).strip(), case)
    name = name.split(" (", maxsplit=1)[0]
    if case.repo == ROLL:
        return _roll(name, case)
    return _present(name, case)


def trl_reduction(case: Case) -> str | None:
    """TRL's, by `loss_type`."""
    kind = case.params.get("loss_type", "grpo")
    if kind in {"grpo", "sapo"}:
        return stack("seq-mean-token-mean", empty="count")
    if kind == "bnpo":
        return "token-mean"
    if kind in {"dapo", "cispo", "vespo"}:
        tokens = case.inputs.get("num_items_in_batch")
        return "token-mean" if tokens is None else stack("token-mean", tokens=float(tokens))
    if kind == "dr_grpo":
        return stack("seq-mean-token-sum-norm", length=case.params["max_completion_length"])
    return None


def shape(case: Case) -> tuple[int, int]:
    """(N, T) of the mask."""
    rows, tokens = np.shape(case.inputs["mask"])
    return rows, tokens


def with_reduction(case: Case, text: str, aggregator: str | None, **run: Any) -> Outcome:
    """`text+aggregator`, or why there is none."""
    if case.repo == ROLL and case.params.get("agg") == "token-mean" and _padded(case):
        return UNMASKED
    if aggregator is None:
        return Unmapped(f"no aggregator averages as {case.params.get('agg') or case.params.get('loss_type')!r}")
    return Run(f"{text}+{aggregator}", **run)


def _padded(case: Case) -> bool:
    """Whether advantages at masked tokens would reach a mean that does not apply the mask."""
    advantages = np.asarray(case.inputs["advantages"], dtype=np.float64)
    mask = np.asarray(case.inputs["mask"], dtype=np.float64)
    advantages = advantages.reshape(*advantages.shape, *[1] * (mask.ndim - advantages.ndim))
    return bool((advantages * (1 - mask)).any())


def _present(name: str, case: Case) -> str | None:
    devices = case.params.get("dp_size", 1)
    tokens, rows = case.params.get("batch_num_tokens"), case.params.get("global_batch_size")
    number = {} if rows is None else {"rows": rows / devices}
    if name == "token-mean" and case.repo in COUNT_EPS:
        return stack("token-mean", eps=ROW_EPS)
    if name == "token-mean":
        return "token-mean" if tokens is None else stack("token-mean", tokens=tokens / devices)
    if name == "token-sum":
        return "token-sum" if devices == 1 else stack("token-sum", scale=float(devices))
    if name == "seq-mean-token-mean":
        return stack("seq-mean-token-mean", eps=ROW_EPS, **number)
    if name == "seq-mean-token-sum":
        return stack("seq-mean-token-sum", **number)
    if name == "seq-mean-token-sum-norm":
        length = case.params.get("loss_scale_factor") or shape(case)[1]
        return stack("seq-mean-token-sum-norm", length=length, empty="skip", **number)
    return None


def _mid_2025(name: str, case: Case) -> str | None:
    if name == "token-mean":
        return stack("token-mean", eps=ROW_EPS)
    if name in {"seq-mean-token-mean", "seq-mean-token-sum"}:
        return stack(name, empty="count")
    if name == "seq-mean-token-sum-norm":
        return stack(name, length=shape(case)[1], rows=1)
    return None


def _roll(name: str, case: Case) -> str | None:
    if name == "token-mean":
        return "token-mean"
    if name == "seq-mean-token-mean":
        return stack(name, eps=ROW_EPS, row_eps=ROW_EPS, empty="count")
    if name == "seq-mean-token-sum":
        return stack(name, row_eps=ROW_EPS, empty="count")
    if name == "seq-mean-token-sum-norm":
        return stack(name, length=shape(case)[1], rows=1)
    return None


@maps(
    "agg_token_mean", "agg_token_sum", "agg_seq_mean_token_mean", "agg_seq_mean_token_sum",
    "agg_seq_mean_token_sum_norm",
)  # fmt: skip
def aggregation(case: Case) -> Outcome:
    for name in ("dp_size", "batch_num_tokens", "global_batch_size", "loss_scale_factor", "variant"):
        case.params.get(name)
    case.require(variant="verl_mid_2025")
    if case.repo == ROLL and case.params["agg"] == "token-mean":
        return UNMASKED
    found = reduction(case)
    return Unmapped(f"no aggregator averages as {case.params['agg']!r}") if found is None else Run(found)
