"""SAW: rewards weighted by their coefficient of variation."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from torch import Tensor

from harness import Groups, hookimpl, method
from harness_papers.reward_columns import active

if TYPE_CHECKING:
    from harness import Batch

EPS = 1e-8  # as in the authors' code


@method(paper="2606.07705", base="grpo(beta=0)")
class SAW:
    """Every reward is weighted by its coefficient of variation over the batch: how much it still says, free of scale.

    x_k = r_k + offset;  cv_k = std_b(x_k) / (|mean_b(x_k)| + 1e-8), std over n - 1;
    w_k <- w_k K cv_k / (sum_j cv_j + 1e-8), over the K columns that have a weight.

    On GRPO this is the authors' grpo-h; `gdpo(tokens=True)+saw` is their gdpo-h. (They have no weights of the task's.)
    offset: makes columns non-negative, those of `offset_columns` (all where it is empty); the authors add 3 to a
    correctness reward in [-3, 3].
    Edge cases: a constant column gets weight 0, all constant gives 0; a mean near 0 blows its weight up.
    Source: arXiv 2606.07705, the authors' code. Confidence: code.
    """

    offset: float = 0.0
    offset_columns: tuple[str, ...] = ()

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The columns as they are, with new weights."""
        batch = yield
        return batch.replace(reward_weights=batch.reward_weights * self._relative(batch))

    def _relative(self, batch: Batch) -> Tensor:
        """[K] what the coefficients of variation make of the weights."""
        everyone = Groups(batch.prompt * 0)
        moved = [not self.offset_columns or name in self.offset_columns for name in batch.reward_names]
        x = batch.rewards + self.offset * batch.reward_weights.new_tensor(moved)
        mean, std = everyone.mean(x, expand=False)[0], everyone.std(x, expand=False)[0]
        counted = active(batch)
        varied = std / (mean.abs() + EPS) * counted
        return counted.sum() * varied / (varied.sum() + EPS)
