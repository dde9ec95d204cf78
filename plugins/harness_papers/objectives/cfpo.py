"""CFPO: GRPO without a clip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import quadratic_penalty_loss

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(paper="2601.22801", base="grpo(beta=0)", scope="group")
class CFPO:
    """GRPO whose clip is replaced by a penalty on the squared distance of the ratio from 1, as in SPO.

    token loss -(r A - |A| (r - 1)^2 / (2 eps)), gradient -r (A - |A| (r - 1) / eps) with respect to logp; advantages
    and aggregation are those of what lies below (GRPO, or RLOO as `rloo+cfpo`).

    eps: the clip range of the host, no parameter more.
    Edge cases: A = 0 gives 0; far above 1 the penalty grows with the ratio's square (the log-ratio is capped at 20).
    Source: arXiv 2601.22801 by way of two third-party implementations. Confidence: secondary.
    """

    eps: float = 0.2

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The penalised surrogate in place of the host's."""
        assert batch.advantages is not None
        return quadratic_penalty_loss(output.ratio, batch.advantages, self.eps)
