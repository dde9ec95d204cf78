"""Expert iteration: sample, keep what is right, fine-tune on all of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Batch, hookimpl, method
from harness.errors import PluginError
from harness.mathematics import masked
from harness.training.learner import Snapshot

if TYPE_CHECKING:
    from harness import PolicyOutput

FORGOTTEN = dict.fromkeys(("logp_old", "logp_ref", "entropy", "greedy_reward", "weights"))


@method(name="expert-iteration", paper="2403.04642", experimental=True)
class ExpertIteration:
    """Rounds of sampling; after each the initial policy is fine-tuned on every distinct right answer so far.

    D <- D + distinct right completions of the step;  at the end of each round of `period` steps: weights back to those
    of the start (`restart`), then `epochs` passes over D with L = mean over its tokens of -logp. Other steps train
    nothing. The optimizer's moments are kept.

    restart: False goes on from the last round's policy. cap: at most so many completions a prompt, the first. epochs,
    period: ours; the paper takes 96 completions a prompt and a few rounds.
    State: D, and the initial weights.
    Edge cases: groups do not matter, every right completion counts 1; nothing right yet trains nothing; prompts that
    are never solved have no part; with one round, no restart and no duplicates it is RAFT over accepted tokens.
    Source: abstract of arXiv 2403.04642. Confidence: abstract (schedule reconstructed).
    """

    restart: bool = True
    period: int = 1
    epochs: int = 1
    cap: int | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that train nothing."""
        if min(self.period, self.epochs, 1 if self.cap is None else self.cap) < 1:
            msg = f"expert-iteration(period={self.period}, epochs={self.epochs}, cap={self.cap}): all must be positive"
            raise PluginError(msg)

    @hookimpl
    def start(self) -> None:
        """Nothing accepted."""
        self.accepted: list[Batch] = []  # none or one batch, its rows distinct
        self.initial: list[Tensor] = []

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """1 for right answers, else 0."""
        return batch.correct.to(batch.rewards.dtype)

    @hookimpl
    def loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """Cross-entropy, mean over accepted tokens."""
        assert batch.advantages is not None
        counted = batch.mask * (batch.advantages > 0)
        return masked(-output.logp, counted).sum() / counted.sum().clamp_min(1)

    @hookimpl
    def update(self, learner: Any, batch: Batch, state: Any) -> Mapping[str, float]:
        """Accept; at the end of a round, fine-tune."""
        self._accept(batch)
        if self.restart and not self.initial:
            self.initial = list(learner.snapshot().tensors)
        if (state.step + 1) % self.period or not self.accepted:
            return {"tokens_trained": 0.0}
        if self.restart:
            learner.restore(Snapshot(tuple(self.initial)))
        found: Mapping[str, float] = {}
        for _ in range(self.epochs):
            found = learner.epoch(self.accepted[0])
        return found

    @hookimpl
    def end_step(self) -> Mapping[str, float]:
        """How many completions have been accepted."""
        return {"accepted": float(sum(map(len, self.accepted)))}

    def _accept(self, batch: Batch) -> None:
        """Add what is right, without duplicates."""
        right = batch[batch.correct & (batch.mask > 0).any(-1)]
        if not len(right):
            return
        # The sampler's numbers stand for logp_old, which no hook of this method reads.
        right = right.replace(**{**FORGOTTEN, "logp_old": right.logp_sampler}, extras={})
        grown = Batch.cat([*self.accepted, right])
        seen: dict[tuple[str, tuple[int, ...]], int] = {}
        number: dict[str, int] = {}
        rows = []
        for row, (record, ids) in enumerate(zip(grown.prompts, grown.completion_ids.tolist(), strict=True)):
            said = (record.key, tuple(ids[: int(grown.lengths[row])]))
            if said not in seen and (self.cap is None or number.get(record.key, 0) < self.cap):
                seen[said] = row
                number[record.key] = number.get(record.key, 0) + 1
                rows.append(row)
        places = {key: place for place, key in enumerate(number)}
        kept = grown[torch.tensor(rows)]
        prompt = torch.tensor([places[record.key] for record in kept.prompts], device=kept.device)
        self.accepted = [kept.replace(prompt=prompt, group_keys=prompt)]
