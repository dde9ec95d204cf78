"""R3, replay: where a group is all right or all wrong, earlier completions of the other kind join it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Batch, Groups, hookimpl, method
from harness_papers.memory import rank_of_newest, remembered

if TYPE_CHECKING:
    from collections.abc import Sequence


@method(name="r3-replay", paper="2601.19620", base="grpo(beta=0)", experimental=True, active={"prefill": 40})
class R3Replay:
    """A group without contrast recalls completions of the same prompt with the opposite verdict, at a reduced weight.

    All wrong: up to `count` remembered right completions join the group; all right: wrong ones. The group's statistics
    are of all; then the advantages of those that joined are multiplied by alpha.

    Old log-probabilities of recalled rows are of the current weights. The paper has a ratio of sequences: stack it
    behind gspo. prefill: prompts of the first steps that are sampled, and charged, before step 0 to fill the memory
    (ours: else it first acts when prompts come again). count and alpha are ours.
    State: the last `count` right and wrong completions of every prompt.
    Edge cases: nothing to recall leaves the group as it is; alpha = 0 keeps recalled rows in the statistics only; rows
    recalled keep the rewards of their day.
    Source: arXiv 2601.19620, excerpts; the authors' code was not found. Confidence: paper (constants assumed).
    """

    count: int = 1
    alpha: float = 0.5
    prefill: int = 0

    @hookimpl
    def start(self, run: Any, state: Any) -> None:
        """A memory that is empty, or filled by the policy as it is."""
        self.right: list[Batch] = []  # none, or one batch; their age counts from step 0
        self.wrong: list[Batch] = []
        if self.prefill:
            self.remember(run.rollout(state.pool.at_step(0, self.prefill), state.group_size), 0)

    @hookimpl
    def augment(self, batch: Batch, state: Any) -> Batch:
        """Recall, then remember the step's own."""
        batch = batch.with_extras(recalled=torch.zeros_like(batch.correct))
        prompts = Groups(batch.prompt)
        lost, solved = ~prompts.any(batch.correct), prompts.all(batch.correct)
        joined = [
            *self.recalled(batch, lost, self.right, state.step),
            *self.recalled(batch, solved, self.wrong, state.step),
        ]
        self.remember(batch, state.step)
        return Batch.cat([batch.replace(entropy=None, logp_old=None), *joined]) if joined else batch

    def remember(self, batch: Batch, step: int) -> None:
        """Keep the last right and wrong completions of every prompt."""
        self.right = remembered(self.right, batch[batch.correct], self.count, step)
        self.wrong = remembered(self.wrong, batch[~batch.correct], self.count, step)

    def recalled(self, batch: Batch, where: Tensor, memory: Sequence[Batch], step: int) -> list[Batch]:
        """The remembered rows of the prompts `where` (bool [N]), as rows of this batch: none, or one batch."""
        if not memory or not where.any():
            return []
        first = Groups(batch.prompt).first
        hosts = {batch.prompts[row].key: row for row in first[where[first]].tolist()}
        known = memory[0]
        rows = [row for row, record in enumerate(known.prompts) if record.key in hosts]
        if not rows:
            return []
        found = known[rows].to(batch.device)
        host = torch.tensor([hosts[record.key] for record in found.prompts], device=batch.device)
        numbers = Groups(batch.prompt).max(batch.rollout.to(torch.float64))[host].long() + 1 + rank_of_newest(found)
        moved = {name: getattr(batch, name)[host] for name in ("prompt", "round", "group_keys")}
        marks = {"recalled": torch.ones_like(found.correct)}
        return [found.replace(rollout=numbers, age=found.age + step, extras=marks, **moved)]

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch: Batch) -> Generator[None, Tensor, Tensor]:
        """The base's, reduced for recalled rows."""
        advantages = yield
        recalled = batch.extras.get("recalled")
        if recalled is None:
            return advantages
        scale = torch.where(recalled, self.alpha, 1).to(advantages.dtype)
        return advantages * scale.reshape(-1, *[1] * (advantages.dim() - 1))

    @hookimpl
    def end_step(self, batch: Batch) -> Mapping[str, float]:
        """How many rows were recalled, and how many are remembered."""
        recalled = batch.extras.get("recalled")
        number = 0.0 if recalled is None else float(recalled.sum())
        return {"recalled": number, "remembered": float(sum(map(len, [*self.right, *self.wrong])))}
