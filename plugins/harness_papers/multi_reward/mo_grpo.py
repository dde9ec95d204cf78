"""MO-GRPO: the sum of the rewards' z-scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from harness import hookimpl, method

if TYPE_CHECKING:
    from harness import Batch


@method(name="mo-grpo", paper="2509.22047", base="grpo(beta=0)", scope="group")
class MOGRPO:
    """Every reward gets the same variance within the group, and so the same pull, before they are added.

    A_i = sum_k w_k (r_{i,k} - mean_g(r_k)) / (std_g(r_k) + eps), without a normalisation over the batch; GDPO adds one.

    The paper's form has no weights; the task's are used, after the normalisation. population: std over n in place of
    n - 1; which one, and eps, is not published, and the default is the harness's.
    Edge cases: a constant column adds 0; groups of one get 0; |A| grows with the number of rewards.
    Source: arXiv 2509.22047 by way of summaries. Confidence: secondary.
    """

    eps: float = 1e-4
    population: bool = False

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The weighted sum of the z-scores."""
        correction = 0 if self.population else 1
        return batch.groups.standardize(batch.rewards, eps=self.eps, correction=correction) @ batch.reward_weights
