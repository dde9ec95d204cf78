"""SPO: a quadratic penalty in place of PPO's clip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import quadratic_penalty_loss

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput


@method(name="spo-simple", paper="2401.16025", base="ppo")
class SPO:
    """A quadratic penalty has its optimum on PPO's clip boundary and pulls ratios beyond it back.

    token loss -(r A - |A| (r - 1)^2 / (2 eps)); least at r = 1 + sign(A) eps. No min, no clip. The paper has it in
    PPO, with a critic; on a group-relative base it is CFPO (`cfpo`).

    Edge cases: A = 0 gives 0; at ratio 1 the gradient is PPO's. Not the SPO of self-play.
    Source: arXiv 2401.16025 and the authors' code. Confidence: code.
    """

    eps: float = 0.2

    @hookimpl
    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """The penalised surrogate."""
        assert batch.advantages is not None
        return quadratic_penalty_loss(output.ratio, batch.advantages, self.eps)
