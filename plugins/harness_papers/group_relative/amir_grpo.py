"""AMIR-GRPO: every ordered pair of a group is a preference."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.errors import PluginError
from harness.mathematics import masked

if TYPE_CHECKING:
    from harness import Batch, PolicyOutput

TINY = 1e-9
BAND = (0.30, 0.70)
STEPS = (1.25, 0.8)


@method(
    name="amir-grpo", paper="2601.03661", base="grpo(beta=0)",
    needs=lambda m: {"reference"} if m.reference else set(), neutral={"weight": 0.0, "adapt": False},
)  # fmt: skip
class AMIRGRPO:
    """GRPO plus a DPO term over all pairs of the group whose rewards differ by more than a margin.

    L = L_GRPO + weight L_pairs,  L_pairs = -mean over pairs of one group with R_i - R_j > margin of
    log sigmoid(strength (S_i - S_j)),  S_i = sum_t logp_{i,t}, minus the reference's with `reference`.

    adapt: before every minibatch r = weight L_pairs / max(1e-9, L_GRPO); below 0.3 the weight grows by 1.25 up to 0.05,
    above 0.7 it shrinks by 0.8 down to 0.005. margin: 2 in the README (1.5 in its code) for sums of several columns;
    0.5 here, as a right answer counts 1. State: the weight.
    Edge cases: no pair is plain GRPO; L_GRPO is about 0 before the first inner step, so the weight mostly sits at its
    floor; S is not normalised by length.
    Source: arXiv 2601.03661 and the authors' code. Confidence: code.
    """

    weight: float = 0.01
    strength: float = 0.2
    margin: float = 0.5
    adapt: bool = True
    reference: bool = False

    @hookimpl
    def start(self) -> None:
        """The weight to begin with."""
        self.current = self.weight

    @hookimpl(wrapper=True)
    def loss(self, batch: Batch, output: PolicyOutput) -> Generator[None, Tensor, Tensor]:
        """The objective below, and the pairs."""
        objective = yield
        pairs = self._pairs(batch, output)
        if self.adapt:
            share = self.current * float(pairs.detach()) / max(TINY, float(objective.detach()))
            if share < BAND[0]:
                self.current = min(0.05, STEPS[0] * self.current)
            elif share > BAND[1]:
                self.current = max(0.005, STEPS[1] * self.current)
        return objective + self.current * pairs

    @hookimpl
    def end_step(self) -> Mapping[str, float]:
        """The weight of the pairs."""
        return {"pair_weight": self.current}

    def _pairs(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """Scalar: the mean preference loss, 0 without pairs."""
        logp = output.logp
        if self.reference:
            if batch.logp_ref is None:
                msg = "amir-grpo(reference=True) needs batch.logp_ref, the reference's log-probabilities"
                raise PluginError(msg)
            logp = logp - batch.logp_ref
        score, reward = masked(logp, batch.mask).sum(-1), batch.reward
        trains = (batch.mask > 0).any(-1)
        keys = torch.where(trains, batch.groups.index, -1)
        pairs = (keys[:, None] == keys) & trains[:, None] & (reward[:, None] - reward > self.margin)
        terms = torch.nn.functional.softplus(-self.strength * (score[:, None] - score))
        return masked(terms, pairs).sum() / pairs.sum().clamp_min(1)
