"""Geometric rejection: whole completions are dropped by their mean log ratio."""

from __future__ import annotations

from harness import method
from harness_papers.off_policy.mis import MIS


@method(name="geo-rs", neutral={"low": None, "high": None, "weigh": "none"})
class GeometricRejection(MIS):
    """A completion whose geometric mean of learner over sampler leaves narrow bounds is dropped, whatever its length.

    k_i = exp( (1/T_i) sum_t log(pi_old / pi_sampler) );  kept iff low <= k_i <= high; kept tokens are weighted by their
    own ratio, untruncated ("seq-mask-tis" of NeMo and OpenRLHF; verl's rejection alone is weigh="none").

    The bounds (NeMo's; verl's documentation has 0.999 to 1.001) are for two engines with the same weights: completions
    of older weights leave them at once, then widen them. level, denominator, normalize, stale_only: as in mis.
    Edge cases: everything dropped gives loss 0; an unknown sampler probability counts as ratio 1.
    Source: "When speed kills stability" (2025); NeMo, OpenRLHF, verl. Confidence: code.
    """

    low: float | None = 0.999
    high: float | None = 1.002
    level: str = "geometric"
    weigh: str = "token"
