"""LASER: a step bonus for correct answers that stay under a target length."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.mathematics import repeated_share
from harness_papers.reward_columns import in_place, verdict

if TYPE_CHECKING:
    from harness import Batch

LEVELS = (1, 2, 5)  # hard, medium, easy: which multiple of the coverage must reach 1 (8/8, 8/3 and 16/3 rounded down)


@method(paper="2505.15612", base="grpo(beta=0)")
class LASER:
    """Correct answers under a target length get a bonus; the target may follow the prompt's difficulty.

    s_i = 1 correct, -0.5 wrong, -1 cut off;  R_i = s_i + bonus 1[correct and T_i <= L*]; in place of the task's
    columns.

    target: L* as a share of the suite's max_tokens. difficulty (LASER-D): L* is that of the prompt's bucket, easy from
    a pass rate of 2/3, medium from 1/3, else hard; every `refresh` steps the smallest length on a grid of `grid` x
    max_tokens whose coverage (share of the bucket's correct completions not longer) times 5, 2 or 1 reaches 1. explore
    (LASER-DE): wrong answers beyond L* get the bonus too, unless an n-gram of theirs repeats.
    Ours: target and grid as shares, the monitor set (the training completions since the last refresh, where the paper
    evaluates held-out prompts), and `ngram`.
    Edge cases: a bucket without correct completions keeps its target; the first targets are `target`.
    Source: arXiv 2505.15612, the authors' code. Confidence: code.
    """

    bonus: float = 0.5
    target: float = 0.5
    difficulty: bool = False
    explore: bool = False
    refresh: int = 20
    grid: float = 0.125
    ngram: int = 4

    @hookimpl
    def start(self) -> None:
        """The same target for every bucket, and nothing seen."""
        self.targets = [self.target] * len(LEVELS)
        self.seen: list[list[float]] = [[] for _ in LEVELS]  # lengths of correct completions, as shares

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """Base score and bonus, in place of the task's columns."""
        batch = yield
        share = batch.lengths.to(batch.rewards.dtype) / max(batch.max_tokens, 1)
        bucket = self._bucket(batch)
        inside = share <= share.new_tensor(self.targets)[bucket]
        earned = batch.correct & inside
        if self.explore:
            fresh = repeated_share(batch.completion_ids, batch.lengths, self.ngram) == 0
            earned = earned | (~batch.correct & ~batch.truncated & ~inside & fresh)
        score = torch.where(batch.correct, 1.0, torch.where(batch.truncated, -1.0, -0.5)).to(share)
        return in_place(batch, "laser", score + self.bonus * earned)

    @hookimpl
    def end_step(self, batch: Batch, state: Any) -> Mapping[str, float] | None:
        """Note the step's correct lengths; now and then set the targets anew."""
        if not self.difficulty:
            return None
        bucket, share = self._bucket(batch), batch.lengths / max(batch.max_tokens, 1)
        for number in range(len(LEVELS)):
            self.seen[number] += share[batch.correct & (bucket == number)].tolist()
        if (state.step + 1) % self.refresh == 0:
            self.targets = [
                self._covering(lengths, level) if lengths else old
                for lengths, level, old in zip(self.seen, LEVELS, self.targets, strict=True)
            ]
            self.seen = [[] for _ in LEVELS]
        return dict(zip(("target_hard", "target_medium", "target_easy"), self.targets, strict=True))

    def _bucket(self, batch: Batch) -> Tensor:
        """[N] 0 hard, 1 medium, 2 easy; all 0 where difficulty does not count."""
        rate = batch.groups.mean(verdict(batch))
        bucket = (rate >= 1 / 3).long() + (rate >= 2 / 3).long()
        return bucket if self.difficulty else torch.zeros_like(bucket)

    def _covering(self, lengths: list[float], level: int) -> float:
        """The smallest multiple of the grid with coverage x level >= 1."""
        needed = sorted(lengths)[-(-len(lengths) // level) - 1]
        return min(self.grid * max(1, -(-needed // self.grid)), 1.0)
