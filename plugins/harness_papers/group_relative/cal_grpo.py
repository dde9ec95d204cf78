"""CAL-GRPO: several attempts at a prompt, each weighed by how likely all later ones fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Groups, hookimpl, method
from harness.errors import PluginError

if TYPE_CHECKING:
    from harness import Batch


@method(name="cal-grpo", paper="2604.17912", base="reinforce", scope="group", experimental=True)
class CALGRPO:
    """Whoever fails tries again, seeing the failed attempt; an attempt's credit is what no later one would have got.

    Round k holds the k-th attempts; wrong ones are put into the prompt by `template` and continued in round k + 1.
    A of attempt k = (prod over j > k of (1 - p_j)) (r - p_k), p_k the share of right ones among the trajectories of the
    prompt that came to attempt k, without the own one in the difference; token loss -A logp (the base's);
    L = sum over tokens / number of trajectories, not of attempts. Without the product the gradient of "solved within
    K attempts" is biased (calibrated=False).

    attempts: K; the suite caps the rounds. Evaluation sees the first attempt only.
    Edge cases: K = 1 is RLOO on verdicts, which r is; who comes to an attempt alone, and equal outcomes, give 0 there.
    Source: abstract of arXiv 2604.17912; the weight follows from the policy gradient, the template is ours.
    Confidence: abstract (reconstructed).
    """

    attempts: int = 3
    calibrated: bool = True
    template: str = "{prompt}{attempt}\n{prompt}"

    def __post_init__(self) -> None:
        """Refuse less than one attempt."""
        if self.attempts < 1:
            msg = f"cal-grpo(attempts={self.attempts}): there is at least one"
            raise PluginError(msg)

    @hookimpl
    def next_round(self, batch: Batch, round: int, state: Any) -> Sequence[Any] | None:  # noqa: A002 - the hook's name
        """Another attempt for every wrong one of this round."""
        if round + 1 >= self.attempts:
            return None
        failed = (batch.round == round) & batch.kept & ~batch.correct
        return [self._again(batch, row, state) for row in failed.nonzero()[:, 0].tolist()] or None

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """The outcome against those of the same attempt, times the chance that it mattered."""
        outcome = batch.correct.to(batch.rewards.dtype)
        reached = Groups(torch.stack([batch.groups.index, batch.round], 1))
        apart = outcome - reached.leave_one_out_mean(outcome)
        return apart * self._needed(batch, outcome) if self.calibrated else apart

    @hookimpl
    def aggregate(self, batch: Batch) -> Tensor:
        """Sums over tokens, mean over trajectories: first attempts that have tokens."""
        first = (batch.mask > 0).any(-1) & (batch.round == 0)
        return batch.mask / first.sum().clamp_min(1)

    def _needed(self, batch: Batch, outcome: Tensor) -> Tensor:
        """[N] how likely it is that all attempts after the row's fail; attempts that nobody made do not count."""
        factors = torch.ones_like(outcome)
        for later in range(1, self.attempts):
            here = batch.round == later
            fails = 1 - batch.groups.mean(outcome, here)
            counts = batch.groups.any(here) & (batch.round < later)
            factors = torch.where(counts, factors * fails, factors)
        return factors

    def _again(self, batch: Batch, row: int, state: Any) -> Any:
        ids = batch.completion_ids[row, : int(batch.lengths[row])].tolist()
        said = state.policy.decode([token for token in ids if token not in state.policy.stop_ids])
        record = batch.prompts[row]
        return state.request(record.key, n=1, text=self.template.format(prompt=record.text, attempt=said))
