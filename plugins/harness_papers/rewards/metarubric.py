"""MetaRubric: criteria pay only with their evidence, and their points move between stages with observed errors."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.optimize import isotonic_regression
from torch import Tensor

from harness import hookimpl, method
from harness_papers.reward_columns import active, in_place

if TYPE_CHECKING:
    from harness import Batch

ANCHORS = {"nice": 1.0, "should": 2.0, "must": 4.0, "contra": 8.0}  # by severity
REACH, ROUNDS = math.log(2), 8  # the smallest log-ratio of neighbours; alternations of the projections
MET = 0.5


def project(tau: Mapping[str, float]) -> dict[str, float]:
    """Within +-ln 2, of mean 0, and such that labels keep their order of severity: alternating projections."""
    labels = [label for label in ANCHORS if label in tau]
    anchors = np.log([ANCHORS[label] for label in labels])
    moved = np.clip([tau[label] for label in labels], -REACH, REACH)
    for _ in range(ROUNDS):
        moved = moved - moved.mean()
        moved = np.clip(isotonic_regression(anchors + moved).x - anchors, -REACH, REACH)
    return dict(zip(labels, moved.tolist(), strict=True))


@method(name="metarubric", paper="2610.02824", base="grpo(beta=0)", experimental=True)
class MetaRubric:
    """A criterion pays only where its evidence is in the completion; labels with many errors gain points in time.

    R_i = clip(sum_j p_j met_ij ev_ij / sum_{p_j > 0} p_j, 0, 1), p = sign * anchor * exp(tau), in place of the task's
    columns; anchors: nice 1, should 2, must 4, contraindication -8. Every `every` steps tau_l += eta (err_l - mean),
    err the mean of 1 - met (of met for contraindications) since the last time, then the projections of `project`.

    The paper's criteria are decided by a judge that quotes its evidence. Here they are the columns with a weight, met
    from 0.5 on, labelled by name (nice if in no list); being cut off is the contraindication; the evidence of `must`
    criteria is the first of the columns `evidence` that the tasks have: an answer counts where it stands as it should.
    Not here: rewriting of criteria, counterfactual twins of prompts, the part from questions about the response.
    State: tau, and the errors of the stage.
    Edge cases: equal errors move nothing; a column that does not apply leaves both sums.
    Source: arXiv 2610.02824, the authors' code (points and their updates). Confidence: code (points), abstract
    (reconstructed) for the reward.
    """

    must: tuple[str, ...] = ("correct", "all_passed")
    should: tuple[str, ...] = ("format", "runs", "steps")
    evidence: tuple[str, ...] = ("format", "quality")
    every: int = 10
    eta: float = 0.1

    @hookimpl
    def start(self) -> None:
        """The anchors as they are."""
        self.tau = dict.fromkeys(ANCHORS, 0.0)
        self.errors: dict[str, list[float]] = {}  # of this stage, a mean a step

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """Points that were earned over points that could be."""
        batch = yield
        labels = [self.label(name) for name in batch.reward_names]
        there = (~batch.rewards.isnan() & active(batch)).to(batch.rewards.dtype)
        points = there * batch.rewards.new_tensor([self.points(label) for label in labels])
        met = (batch.rewards >= MET).to(points.dtype)
        backed = torch.where(
            torch.tensor([label == "must" for label in labels], device=met.device), self._proof(batch), 1
        )
        total = points.sum(1)
        earned = (points * met * backed).sum(1) - self.points("contra") * batch.truncated
        return in_place(batch, "rubric", (earned / torch.where(total > 0, total, 1)).clamp(0, 1))

    @hookimpl
    def end_step(self, state: Any) -> Mapping[str, float]:
        """Note the errors; at the end of a stage, move the points."""
        for label, error in self._observed(state.gathered).items():
            self.errors.setdefault(label, []).append(error)
        if self.every and (state.step + 1) % self.every == 0:
            self.advance({label: sum(found) / len(found) for label, found in self.errors.items()})
            self.errors = {}
        return {f"points_{label}": self.points(label) for label in ANCHORS}

    def advance(self, errors: Mapping[str, float]) -> None:
        """The next stage's points, from this stage's errors by label."""
        if errors:
            mean = sum(errors.values()) / len(errors)
            self.tau |= project({label: self.tau[label] + self.eta * (errors[label] - mean) for label in errors})

    def label(self, name: str) -> str:
        """Of a column."""
        return "must" if name in self.must else "should" if name in self.should else "nice"

    def points(self, label: str) -> float:
        """What a label is worth now, without its sign."""
        return ANCHORS[label] * math.exp(self.tau[label])

    def _proof(self, batch: Batch) -> Tensor:
        """[N, 1] whether the evidence is there."""
        column = next((batch.reward_names.index(name) for name in self.evidence if name in batch.reward_names), None)
        proof = torch.ones_like(batch.reward) if column is None else batch.rewards[:, column].nan_to_num(1)
        return (proof >= MET).to(batch.rewards.dtype)[:, None]

    def _observed(self, batch: Batch) -> dict[str, float]:
        """The mean error of every label that the step has."""
        if not len(batch):
            return {}
        missed = torch.where(batch.rewards.isnan(), torch.nan, (batch.rewards < MET).to(batch.rewards.dtype)).nanmean(0)
        found: dict[str, list[float]] = {"contra": [float(batch.truncated.double().mean())]}
        for name, error, counts in zip(batch.reward_names, missed.tolist(), active(batch).tolist(), strict=True):
            if counts and not math.isnan(error):
                found.setdefault(self.label(name), []).append(error)
        return {label: sum(errors) / len(errors) for label, errors in found.items()}
