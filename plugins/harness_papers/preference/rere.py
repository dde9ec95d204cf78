"""ReRe: confident wrong answers are punished more, beside a right one."""

from __future__ import annotations

from collections.abc import Generator

import torch

from harness import Batch, hookimpl, method
from harness_papers.logps import written_logp


@method(name="rere", paper="2510.12211", base="grpo(beta=0.001)", neutral={"weight": 0.0}, scope="group")
class ReRe:
    """Beside a right answer, the wrong ones are punished by how likely the policy found them: hard negatives first.

    The completions of a group are ranked by sum_t logp, the likeliest first: k = 1 ... G. Where one of them is right a
    wrong one at rank k gets -(1 / log2(k + 1)) / Z, Z = sum_k 1 / log2(k + 1), as the column `ranking` with weight
    `weight`, right ones 0; groups without a right one get 0.

    The paper recommends from a closed list of items and takes ranks and distinct candidates from a constrained beam
    search of width 16; here ranks are of samples, which may repeat.
    Edge cases: rows that `keep` removed are not ranked; without a hit the column is 0.
    Source: arXiv 2510.12211, the authors' code. Confidence: code (the beam search is left out).
    """

    weight: float = 1.0

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """One column more."""
        batch = yield
        groups = batch.groups
        likely = batch.sequence_sum(written_logp(batch)).to(batch.rewards.dtype)
        share = 1 / (groups.rank(-likely) + 2).to(batch.rewards.dtype).log2()
        punished = groups.any(batch.correct) & ~batch.correct
        ranking = torch.where(punished, -share / groups.sum(share), torch.zeros_like(share))
        return batch.add_reward("ranking", ranking, weight=self.weight)
