"""IcePop: two-sided masking of tokens that learner and sampler see too differently."""

from __future__ import annotations

from harness import method
from harness_papers.off_policy.mis import MIS


@method(name="icepop", neutral={"low": None, "high": None, "weigh": "none"})
class IcePop(MIS):
    """A token is weighted by the ratio of learner to sampler while that is within bounds, and dropped outside them.

    k = pi_old / pi_sampler;  w = sg[k] if low <= k <= high, else 0;  l <- w l, after the clip. Masked importance
    sampling of tokens, with a lower bound. level, weigh, denominator, normalize, stale_only: as in mis.
    Edge cases: everything dropped gives loss 0; an unknown sampler probability has weight 1.
    Source: "Small leak can sink a great ship" (Ling team, 2025); NeMo, OpenRLHF, slime. Confidence: code.
    """

    low: float | None = 0.5
    high: float | None = 5.0
    level: str = "token"
