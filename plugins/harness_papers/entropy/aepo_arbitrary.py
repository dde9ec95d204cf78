"""AEPO: entropy steered by what is sampled, not by a bonus."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from harness import Batch, Groups, hookimpl, method
from harness_papers.entropy.monitor import mean_entropy

NEAR = 1e-3  # of two temperatures that are the same


@method(name="aepo-arbitrary", paper="2510.08141", base="grpo(beta=0)", needs={"entropy"})
class AEPOArbitrary:
    """Good completions sampled hotter or colder are imitated beside the base's loss, to raise or lower the entropy.

    T = hot if the last step's mean token entropy <= target, else cold. Every prompt gets `completions` more at
    T times the sampling temperature, in groups of their own; those with an advantage above `threshold`, at most
    `share` of the batch (and half of what that leaves when cold), are trained on with advantage `alpha` at the ordinary
    temperature, so grad J = grad J_base + alpha' E_{pi^T}[ R grad log pi ]; others are scored, charged and left out.

    completions: None is the size of the group. The authors' code has that, for the first quarter of the prompts; 60
    rows of 2560 are used and take the place of as many of the base's, beside which they stand here. (Not agentic
    entropy-balanced policy optimization.)
    State: the entropy of the last step, 0 before the first.
    Edge cases: no good completion leaves the base's loss, alpha = 0 too; off-policy corrections see tempered rows as
    sampled by another policy.
    Source: arXiv 2510.08141 and the authors' code. Confidence: code.
    """

    target: float = 0.5
    hot: float = 1.2
    cold: float = 0.8
    alpha: float = 1.0
    share: float = 0.0234375
    threshold: float = 0.05
    completions: int | None = None

    @hookimpl
    def start(self) -> None:
        """No entropy seen: sample hotter."""
        self.entropy = 0.0

    @property
    def factor(self) -> float:
        """What the temperature of the additional completions is multiplied by."""
        return self.hot if self.entropy <= self.target else self.cold

    @hookimpl(wrapper=True)
    def allocate_rollouts(self) -> Generator[None, Sequence[Any], Sequence[Any]]:
        """Tempered completions beside those of the plugin below."""
        requests = yield
        tempered = [
            dataclasses.replace(
                request,
                n=request.n if self.completions is None else self.completions,
                temperature=request.temperature * self.factor,
                first_rollout=request.first_rollout + request.n,
            )
            for request in requests
        ]
        return [*requests, *tempered]

    @hookimpl(wrapper=True)
    def group_by(self, batch: Batch, state: Any) -> Generator[None, Tensor, Tensor]:
        """Tempered completions are compared among themselves."""
        keys = yield
        keys = keys[:, None] if keys.dim() == 1 else keys
        return torch.cat([keys, self._tempered(batch, state).long()[:, None]], 1)

    @hookimpl(wrapper=True)
    def augment(self, state: Any) -> Generator[None, Batch, Batch]:
        """Mark tempered rows; from here on their log-probabilities are at the ordinary temperature."""
        grown = yield
        tempered = self._tempered(grown, state)
        ordinary = torch.full_like(grown.temperature, state.temperature)
        return grown.with_extras(tempered=tempered).replace(
            temperature=torch.where(tempered, ordinary, grown.temperature)
        )

    @hookimpl(wrapper=True)
    def estimate_advantages(self, batch: Batch) -> Generator[None, Tensor, Tensor]:
        """`alpha` for the good tempered rows that are used, 0 for other tempered ones."""
        advantages = yield
        tempered = batch.extras.get("tempered")
        if tempered is None:
            return advantages
        good = tempered & (batch.replace(advantages=advantages).advantage > self.threshold)
        number = min(max(1, round(self.share * int((~tempered).sum()))), int(good.sum()))
        number = number if self.entropy <= self.target else number // 2
        # The first in the order of prompts and rollouts, whatever the order of the rows.
        place = Groups(torch.stack([batch.prompt, batch.rollout], 1)).index
        first = Groups(torch.zeros_like(place)).rank(place, good)
        used = good & (first < number)
        chosen = torch.where(used, self.alpha, 0.0).to(advantages.dtype)[:, None]
        return torch.where(tempered[:, None], chosen, advantages)

    @hookimpl
    def train_on(self, batch: Batch) -> Tensor:
        """The base's rows, and the tempered ones that are used."""
        tempered = batch.extras.get("tempered")
        return torch.ones_like(batch.correct) if tempered is None else ~tempered | (batch.advantage > 0)

    @hookimpl
    def end_step(self, batch: Batch) -> Mapping[str, float]:
        """Remember the entropy of the ordinary completions."""
        tempered = batch.extras.get("tempered", torch.zeros_like(batch.correct))
        if batch.entropy is not None and bool((~tempered).any()):
            self.entropy = float(mean_entropy(batch.entropy[~tempered], batch.mask[~tempered]))
        return {"aepo_tempered": float((tempered & batch.trains).sum())}

    def _tempered(self, batch: Batch, state: Any) -> Tensor:
        return (batch.temperature - state.temperature * self.factor).abs() < NEAR
