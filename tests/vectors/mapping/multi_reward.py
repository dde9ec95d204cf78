"""Several rewards, and rewards shaped by lengths, texts and embeddings."""

from __future__ import annotations

from tests.vectors.mapping import Case, Outcome, Run, maps, stack


@maps("ddca")
def ddca(case: Case) -> Outcome:
    case.require(ddof=0, variant=("grpo", "rloo"))
    params = case.params
    baseline = "group" if params["variant"] == "grpo" else "others"
    text = stack("ddca", beta=params["beta"], dynamic=params["dynamic"], eps=params["eps"], baseline=baseline)
    return Run(text)
