"""VADE: prompts by Thompson sampling of how informative they may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from harness import hookimpl, method

if TYPE_CHECKING:
    from harness import Batch


@method(paper="2511.18902", base="grpo(beta=0)", experimental=True)
class VADE:
    """Every prompt has a Beta posterior of its pass rate; the prompts whose drawn rate is most informative are taken.

    p_j ~ Beta(a_j, b_j), prior (1, 1); utility p (1 - p)^2, largest at 1/3; the `count` largest make the round.
    After a step a += correct, b += wrong, over every completion that was sampled, dropped ones included.

    decay: a, b of sampled prompts are multiplied by it before adding; forget: those of all others shrink towards the
    prior by it. The published values are unknown; 1 leaves plain Thompson sampling.
    Edge cases: prompts never tried keep a wide posterior and are explored; a pool that is too small is repeated.
    Source: arXiv 2511.18902. Confidence: secondary (utility), abstract (decay).
    """

    decay: float = 1.0
    forget: float = 1.0

    @hookimpl
    def start(self) -> None:
        """No prompts yet; all of the pool get the prior when first chosen from."""
        self.counts = torch.ones(0, 2, dtype=torch.float64)  # a, b
        self.chosen: dict[str, int] = {}  # places in the pool of this step's prompts

    @hookimpl
    def select_prompts(self, pool: Any, count: int, state: Any) -> Sequence[str]:
        """The prompts of largest drawn utility that the step does not have yet."""
        keys = pool.keys
        if len(self.counts) != len(keys):
            self.counts = torch.ones(len(keys), 2, dtype=torch.float64)
        seed = int(torch.randint(2**62, (), generator=state.generator))
        rate = np.random.default_rng(seed).beta(self.counts[:, 0].numpy(), self.counts[:, 1].numpy())
        utility = rate * (1 - rate) ** 2
        utility[list(self.chosen.values())] = -1.0
        order = np.argsort(-utility, kind="stable")[:count].tolist()
        picked = [order[i % len(order)] for i in range(count)]
        self.chosen |= {keys[place]: place for place in picked}
        return [keys[place] for place in picked]

    @hookimpl
    def end_step(self, state: Any) -> Mapping[str, float]:
        """Update the posteriors with every completion of the step."""
        sampled: Batch = state.gathered
        places = torch.tensor([self.chosen.get(record.key, -1) for record in sampled.prompts], dtype=torch.long)
        known, right = places >= 0, sampled.correct.cpu()
        fresh = torch.zeros_like(self.counts)
        fresh.index_put_((places[known], (~right[known]).long()), fresh.new_ones(()), accumulate=True)
        tried = fresh.sum(1, keepdim=True) > 0
        self.counts = torch.where(tried, self.decay * self.counts + fresh, 1 + self.forget * (self.counts - 1))
        self.chosen = {}
        return {"prompts_tried": float((self.counts.sum(1) > 2).sum())}
