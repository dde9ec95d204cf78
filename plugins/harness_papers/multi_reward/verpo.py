"""VeRPO: unit tests weigh more the fewer rollouts pass them."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method
from harness_papers.reward_columns import active, verdict

if TYPE_CHECKING:
    from harness import Batch


@method(name="verpo", paper="2601.03525", base="grpo(beta=0)", scope="group", experimental=True)
class VeRPO:
    """Passing a unit test is worth more the rarer it is in the group and the fewer other tests are as hard.

    rho_j = mean_g(P_j), P the tests passed;  N_j = sum_l exp(-(rho_j - rho_l)^2 / (2 sigma^2));
    w_j = exp(-alpha rho_j) / (N_j + delta);  A_i = c_i - mean_g(c) + beta (sum_j w_j P_ij - mean_g), c the verdict.

    Tests are the hidden ones of the code task; for other tasks the columns with a weight stand in, each as one test
    that is passed to the extent of its value. normalize: divide by sum w, which keeps prompts with many tests
    comparable (ours). With one turn the paper's discount of the outcome by turns is a constant. No constants are
    published: all are ours.
    Edge cases: all or none pass every test: 0; no tests leave the outcome alone.
    Source: arXiv 2601.03525 by way of a reading note. Confidence: secondary (constants reconstructed).
    """

    alpha: float = 2.0
    sigma: float = 0.1
    delta: float = 1e-6
    beta: float = 0.5
    normalize: bool = False

    @hookimpl(wrapper=True)
    def generate(self, state: Any) -> Generator[None, Any, Any]:
        """The tests that every completion passes, [M, tests], NaN for tasks without tests."""
        rollouts = yield
        task = state.task.tasks.get("code") if state.task is not None else None
        if task is None or "passed" in rollouts.extras:
            return rollouts
        problems = [state.task.problem(request.key) for request in rollouts.requests]
        mine = [row for row, place in enumerate(rollouts.index.tolist()) if problems[place].task == "code"]
        if not mine:
            return rollouts
        asked = [problems[place] for place in rollouts.index[mine].tolist()]
        cut = rollouts.truncated[mine].tolist()
        found = task.tests_passed(asked, [rollouts.texts[row] for row in mine], cut, sandbox=state.task.sandbox)
        passed = rollouts.logp.new_full((len(rollouts), found.shape[1]), torch.nan)
        passed[mine] = passed.new_tensor(found)
        return rollouts.replace(extras={**rollouts.extras, "passed": passed})

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Outcome and tests, each less its group's mean."""
        return batch.groups.center(verdict(batch) + self.beta * self.dense(batch))

    def dense(self, batch: Batch) -> Tensor:
        """[N] the weighted sum of what is passed."""
        passed = self._passed(batch)
        known = batch.groups.count(~passed.isnan(), expand=False) > 0
        rate = batch.groups.mean(passed, expand=False)
        apart = (rate[:, :, None] - rate[:, None, :]) / self.sigma
        crowd = ((-apart.square() / 2).exp() * known[:, None, :]).sum(2)
        weights = (-self.alpha * rate).exp() / (crowd + self.delta) * known
        if self.normalize:
            total = weights.sum(1, keepdim=True)
            weights = weights / torch.where(total > 0, total, 1)
        return (weights.index_select(0, batch.groups.index) * passed.nan_to_num()).sum(1)

    @staticmethod
    def _passed(batch: Batch) -> Tensor:
        """[N, J] the tests, or the columns where there are none."""
        columns = torch.where(active(batch), batch.rewards, torch.nan)
        tests = batch.extras.get("passed")
        if tests is None:
            return columns
        tests = tests.to(columns.dtype)
        none = tests.isnan().all(1, keepdim=True)
        return torch.cat([tests, torch.where(none, columns, torch.nan)], 1)
