"""BAPO: saying nothing is rewarded where nobody knows."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Groups, hookimpl, method
from harness_papers.answers import answer_classes, with_answers
from harness_papers.reward_columns import in_place, verdict

if TYPE_CHECKING:
    from harness import Batch


@method(name="bapo-boundary", paper="2601.11037", base="grpo(beta=0)")
class BAPO:
    """Abstaining earns a bonus in groups that nobody solved, early while it is rare, late once answers have settled.

    s_i = -1 if cut off, 1 if right, else 0;  in a group without a right answer, abstentions get `bonus` if allowed:
    early, while the batch abstains in less than `rare` of its completions; late, where the group's other answers have
    at most `distinct` values. Late begins when accuracy has been below its best in more than `patience` steps, counted
    for good. In place of the task's columns.

    A completion abstains if what stands behind its last `#`, else its whole text, contains `marker`, or no letter or
    digit at all. resample: groups without a right answer and without abstention are sampled
    anew up to that many times (rounds permitting), the last attempt stays. Accuracy is the step's own, where the paper
    validates; so the late stage comes sooner. rare: 0.05 in the code, 0.1 in its README.
    State: best accuracy, steps below it, the stage.
    Edge cases: all abstain, or none of an unsolved group does: 0.
    Source: arXiv 2601.11037, the authors' code; F1 and search are not here. Confidence: code.
    """

    bonus: float = 0.5
    rare: float = 0.05
    distinct: int = 3
    patience: int = 5
    resample: int = 2
    marker: str = "I don't know"

    @hookimpl
    def start(self) -> None:
        """Early."""
        self.best, self.below = 0.0, 0

    @hookimpl(wrapper=True)
    def generate(self) -> Generator[None, Any, Any]:
        """Which completions abstain, and a number for what each answers."""
        rollouts = with_answers((yield))
        answers = [text.rpartition("#")[2].strip().lower() for text in rollouts.texts]
        silent = [self.marker.lower() in answer or not any(map(str.isalnum, answer)) for answer in answers]
        abstains = torch.tensor(silent, device=rollouts.mask.device) & ~rollouts.truncated
        return rollouts.replace(extras={**rollouts.extras, "abstains": abstains})

    @hookimpl
    def keep(self, batch: Batch) -> Tensor:
        """The last attempt at every prompt."""
        return batch.round == Groups(batch.prompt).max(batch.round.to(batch.rewards.dtype))

    @hookimpl
    def next_round(self, batch: Batch, round: int, state: Any) -> Sequence[Any] | None:  # noqa: A002 - its name
        """Another attempt at prompts where nobody is right and nobody abstains."""
        if round >= self.resample:
            return None
        last = batch.kept & (batch.round == round)
        solved = batch.groups.any(batch.correct | self._abstains(batch), last)
        again = Groups(batch.prompt).rank(batch.rollout.to(batch.rewards.dtype), last & ~solved) == 0
        return [state.request(batch.prompts[row].key) for row in again.nonzero()[:, 0].tolist()] or None

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """Base score and bonus."""
        batch = yield
        abstains = self._abstains(batch)
        unsolved = ~batch.groups.any(batch.correct)
        paid = abstains & ~batch.truncated & unsolved & self._allowed(batch, abstains)
        score = torch.where(batch.truncated & ~batch.correct, -1, verdict(batch))
        return in_place(batch, "boundary", score + self.bonus * paid)

    @hookimpl
    def end_step(self, batch: Batch) -> Mapping[str, float]:
        """Watch the accuracy."""
        accuracy = float(verdict(batch).mean()) if len(batch) else 0.0
        self.below += accuracy < self.best
        self.best = max(self.best, accuracy)
        return {"abstained": float(self._abstains(batch).double().mean()) if len(batch) else 0.0, "late": self.late}

    @property
    def late(self) -> bool:
        """Whether the policy has stopped improving."""
        return self.below > self.patience

    def _allowed(self, batch: Batch, abstains: Tensor) -> Tensor:
        """[N] bool: whether abstentions of the row's group may be paid."""
        if not self.late:
            return torch.full_like(abstains, bool(abstains.double().mean() < self.rare))
        first = (
            answer_classes(batch).rank(torch.zeros_like(batch.rewards[:, 0]), ~abstains) == 0
        )  # one row of every answer
        return batch.groups.sum(first) <= self.distinct

    @staticmethod
    def _abstains(batch: Batch) -> Tensor:
        return batch.extras.get("abstains", torch.zeros_like(batch.correct))
