"""AR3PO: stop sampling a prompt once it is solved, and reuse an old solution where none was found."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Batch, Groups, hookimpl, method
from harness_papers.memory import remembered

if TYPE_CHECKING:
    from collections.abc import Mapping


@method(
    name="ar3po",
    paper="2509.25808",
    base="grpo(beta=0)",
    scope="group",
    experimental=True,
    neutral={"stages": 1, "memory": 0},
)
class AR3PO:
    """Completions come in stages; after each, prompts with a correct one leave. Prompts without any borrow one.

    Each of `stages` rounds samples G / stages completions of every prompt that has no correct one yet (the suite caps
    the rounds). Afterwards, in a prompt still unsolved, one wrong completion is replaced by a random correct one of an
    earlier step, of which the last `memory` are kept per prompt. Advantages are the base's over groups of unequal size.

    train_replayed: False, the better of the paper's two options: a borrowed completion shapes the advantages and gets
    no gradient; True trains on it, with old log-probabilities of the current weights.
    Edge cases: solved at once costs G / stages completions, never solved costs G; nothing to borrow leaves the group
    all wrong, at 0. The stopping rule makes successes rarer in solved groups than the policy is good.
    Source: arXiv 2509.25808 by way of a summary; stages and memory are ours. Confidence: secondary.
    """

    stages: int = 4
    memory: int = 4
    train_replayed: bool = False

    @hookimpl
    def start(self) -> None:
        """An empty memory."""
        self.solved: list[Batch] = []  # none, or one batch of correct rows; their age counts from step 0

    @hookimpl(wrapper=True)
    def allocate_rollouts(self) -> Generator[None, Sequence[Any], Sequence[Any]]:
        """A stage's share of what the plugin below asks for."""
        requests = yield
        return [dataclasses.replace(request, n=-(-request.n // self.stages)) for request in requests]

    @hookimpl
    def next_round(self, batch: Batch, round: int, state: Any) -> Sequence[Any] | None:  # noqa: A002 - the hook's name
        """Another stage for the prompts without a correct completion."""
        if round + 1 >= self.stages:
            return None
        prompts = Groups(batch.prompt)
        failed = ~prompts.any(batch.correct, expand=False)
        first, size = prompts.first[failed].tolist(), prompts.count(expand=False)[failed].tolist()
        share = -(-state.group_size // self.stages)
        requests = [
            state.request(batch.prompts[row].key, n=min(share, state.group_size - done))
            for row, done in zip(first, size, strict=True)
            if done < state.group_size
        ]
        return requests or None

    @hookimpl
    def augment(self, batch: Batch, state: Any) -> Batch:
        """Put remembered solutions in place of wrong completions, then remember this step's."""
        batch = batch.with_extras(replayed=torch.zeros_like(batch.correct))
        grown = self._borrow(batch, state)
        self._remember(batch, state)
        return grown

    @hookimpl
    def train_on(self, batch: Batch) -> Tensor:
        """Borrowed completions get no gradient, unless asked for."""
        replayed = batch.extras.get("replayed")
        return torch.ones_like(batch.correct) if replayed is None or self.train_replayed else ~replayed

    @hookimpl
    def end_step(self, batch: Batch) -> Mapping[str, float]:
        """How many completions were borrowed, and how many are remembered."""
        replayed = batch.extras.get("replayed")
        borrowed = 0.0 if replayed is None else float(replayed.sum())
        return {"replayed": borrowed, "remembered": float(sum(map(len, self.solved)))}

    def _borrow(self, batch: Batch, state: Any) -> Batch:
        """One remembered solution for the first completion of every prompt that has none of its own."""
        if not self.solved or not len(batch):
            return batch
        prompts = Groups(batch.prompt)
        first = prompts.first[~prompts.any(batch.correct, expand=False)]
        wanted = {batch.prompts[row].key: row for row in first.tolist()}
        memory = self.solved[0]
        rows = torch.tensor([i for i, record in enumerate(memory.prompts) if record.key in wanted], dtype=torch.long)
        if not len(rows):
            return batch
        victims = torch.tensor([wanted[memory.prompts[i].key] for i in rows.tolist()])
        chance = torch.rand(len(rows), generator=state.generator)
        drawn = Groups(victims).rank(chance) == 0
        rows, victims = rows[drawn], victims[drawn].to(batch.device)
        found = memory[rows].to(batch.device)
        borrowed = found.replace(
            prompt=batch.prompt[victims],
            rollout=batch.rollout[victims],
            round=batch.round[victims],
            group_keys=batch.group_keys[victims],
            age=found.age + state.step,
            extras={"replayed": torch.ones_like(found.correct)},
        )
        stays = torch.ones_like(batch.correct)
        stays[victims] = False
        return Batch.cat([batch[stays], borrowed])

    def _remember(self, batch: Batch, state: Any) -> None:
        """Keep this step's correct rows, the last `memory` of every prompt."""
        self.solved = remembered(self.solved, batch[batch.correct], self.memory, state.step)
