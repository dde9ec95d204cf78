"""Tree-GRPO: completions that branch from one another, compared within their tree and across trees."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Groups, hookimpl, method

if TYPE_CHECKING:
    from harness import Batch


@method(paper="2509.21240", base="grpo(beta=0)", scope="group", experimental=True, neutral={"trees": 1_000_000})
class TreeGRPO:
    """A few chains per prompt, continued again from random places; the prefix is sampled, and paid for, once.

    Of a group's G completions `trees` are roots; each other one keeps the first tokens of a root, up to a place drawn
    uniformly inside it, and is sampled from there to the end, roots taking turns.
    A_i = z-score within its tree + z-score within its prompt, z(x) = (x - mean) / (std + eps), std over n - 1, on all
    tokens from root to leaf; tokens that leaves share train once for each.

    The paper branches between turns of an agent, expands N nodes per tree L times (2 trees, N = 2, L = 1), and has no
    single-turn form; places inside a completion are ours.
    Edge cases: trees >= G is twice nothing but GRPO (a tree of one adds 0); one tree is 2 x GRPO; ties give 0.
    Source: arXiv 2509.21240 and the authors' code (which scales twice instead of adding). Confidence: code.
    """

    trees: int = 2
    eps: float = 1e-6

    @hookimpl
    def generate(self, sampler: Any, requests: Sequence[Any], state: Any) -> Any:
        """Roots, then branches; `tree` numbers the root of every completion within its request."""
        roots = sampler.generate([dataclasses.replace(r, n=min(self.trees, r.n)) for r in requests])
        counts = [request.n for request in roots.requests]
        starts = [sum(counts[:i]) for i in range(len(counts))]
        # Which root each branch continues, request by request.
        turns = [
            (start + turn % count, request.first_rollout + count + turn)
            for start, count, request in zip(starts, counts, requests, strict=True)
            for turn in range(request.n - count)
        ]
        rows = [row for row, _ in turns]
        tree = roots.rollout - torch.tensor([request.first_rollout for request in requests])[roots.index.cpu()].to(
            roots.rollout.device
        )
        if not rows:
            return roots.replace(extras={**roots.extras, "tree": tree})
        inside = (roots.lengths[rows] - 1).clamp_min(0).cpu()
        cuts = (torch.rand(len(rows), generator=state.generator) * inside).ceil().long()  # 1 to length - 1
        # A branch has a rollout number, and so noise, of its own.
        wanted = [
            dataclasses.replace(branch, first_rollout=number)
            for branch, (_, number) in zip(roots.branch(cuts, rows=rows), turns, strict=True)
        ]
        grown = type(roots).cat([roots, sampler.generate(wanted)])
        return grown.replace(extras={**grown.extras, "tree": torch.cat([tree, tree[rows]])})

    @hookimpl
    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Within the tree plus within the group."""
        across = batch.groups.standardize(batch.reward, eps=self.eps)
        tree = batch.extras.get("tree")
        if tree is None:
            return across
        # Rounds draw trees of their own.
        within = Groups(torch.stack([batch.groups.index, batch.round, tree], 1))
        return across + within.standardize(batch.reward, eps=self.eps)
