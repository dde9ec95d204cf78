"""iGRPO: drafts first, then refinements of the best one."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Groups, hookimpl, method

if TYPE_CHECKING:
    from harness import Batch


@method(paper="2602.09000", base="grpo(beta=0)", scope="group")
class IGRPO:
    """The model sees its best draft and is trained on the refinements only; it is evaluated on the prompt alone.

    Round 0 samples N drafts; the best (the first on ties) is put into the prompt by `template`; round 1 samples
    G - N refinements of it. Drafts and refinements are groups of their own; drafts get no gradient.

    drafts: N, by default half of the group (8 drafts and 8 refinements against GRPO's 16 in the paper).
    Edge cases: all drafts wrong: a wrong one is shown; a single round (the suite's cap, or the budget's end) leaves
    drafts alone, and nothing trains.
    Source: arXiv 2602.09000; the template is ours. Confidence: paper.
    """

    drafts: int | None = None
    template: str = "{prompt}{draft}\n{prompt}"

    @hookimpl(wrapper=True)
    def allocate_rollouts(self) -> Generator[None, Sequence[Any], Sequence[Any]]:
        """The drafts' share of what the plugin below asks for."""
        requests = yield
        return [dataclasses.replace(request, n=self._number(request.n)) for request in requests]

    @hookimpl
    def group_by(self, batch: Batch) -> Tensor:
        """Prompt, and draft or refinement."""
        return torch.stack([batch.prompt, (batch.round > 0).long()], 1)

    @hookimpl
    def next_round(self, batch: Batch, round: int, state: Any) -> Sequence[Any] | None:  # noqa: A002 - the hook's name
        """Refinements of every prompt's best draft."""
        refinements = state.group_size - self._number(state.group_size)
        if round > 0 or refinements < 1:
            return None
        best = batch.kept & (Groups(batch.prompt).rank(-batch.reward, batch.kept) == 0)
        return [self._refine(batch, row, refinements, state) for row in best.nonzero()[:, 0].tolist()] or None

    @hookimpl
    def train_on(self, batch: Batch) -> Tensor:
        """Refinements."""
        return batch.round > 0

    def _number(self, group: int) -> int:
        return max(group // 2, 1) if self.drafts is None else self.drafts

    def _refine(self, batch: Batch, row: int, n: int, state: Any) -> Any:
        ids = batch.completion_ids[row, : int(batch.lengths[row])].tolist()
        draft = state.policy.decode([token for token in ids if token not in state.policy.stop_ids])
        record = batch.prompts[row]
        return state.request(record.key, n=n, text=self.template.format(prompt=record.text, draft=draft))
