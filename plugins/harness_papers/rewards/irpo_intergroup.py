"""IRPM (first IRPO): the policy judges answers one by one, and is rewarded against the judgments of the other group."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from harness import Groups, hookimpl, method
from harness.tasks.answers import find_answer
from harness_papers.judging import first_of_each, judged_by_role, text_of, with_role
from harness_papers.pairs import Pairs
from harness_papers.reward_columns import in_place

if TYPE_CHECKING:
    from harness import Batch

TOP = 10.0  # judgments are from 0 to it
CHOSEN, REJECTED = 1, 2  # roles


@method(name="irpo-intergroup", paper="2601.00677", base="grpo(beta=0)", experimental=True)
class IRPM:
    """A judgment of a good answer is right if it lies above the mean of those of a bad one, and the other way round.

    chosen: R_i = 1 if s_i > mean s_rejected + delta, else -1;  rejected: R_j = 1 if s_j < mean s_chosen - delta, else
    -1;  delta = strength - 2;  less `invalid` if no number from 0 to 10 is found, whose score is then the worst (0 for
    chosen, 10 for rejected) and counts in the mean. Each side is a group.

    form: "bradley-terry" is the paper's first version (reconstructed), the mean of sigmoid(s_chosen - s_rejected). The
    pair is a right and a wrong completion of the step, judged in a second round, `judgments` of each, by `template`;
    the paper has labelled pairs with strengths 1 to 3 and trains a judge alone. answers: train on the completions too,
    by the task's reward. Critiques are what the policy makes of the template.
    Edge cases: equal scores are wrong on both sides; all right gives 0; a prompt without a pair is not judged; a single
    round (the suite's cap) is the base.
    Source: arXiv 2601.00677, the authors' code (4 judgments, HelpSteer3). Confidence: code; the pairs are ours.
    """

    judgments: int = 4
    strength: int = 2
    invalid: float = 0.5
    form: Literal["mean", "bradley-terry"] = "mean"
    answers: bool = True
    template: str = "{prompt}{answer}\nscore 0-10:"

    @hookimpl
    def next_round(self, batch: Batch, round: int, state: Any) -> Sequence[Any] | None:  # noqa: A002 - its name
        """Judgments of a right and of a wrong completion of every prompt that has both."""
        if round > 0:
            return None
        pairs = first_of_each(batch, batch.kept & batch.correct, batch.kept & ~batch.correct)
        asked = [state.request(batch.prompts[row].key, n=self.judgments, text=self._shown(batch, row, state))
                 for pair in pairs for row in pair]  # fmt: skip
        return asked or None

    @hookimpl(wrapper=True)
    def generate(self, state: Any) -> Generator[None, Any, Any]:
        """Whom a judgment is of, and its score, NaN where there is none."""
        rollouts = with_role((yield), state.round)
        said = [self.score_of(text) for text in rollouts.texts]
        scores = torch.where(rollouts.truncated, torch.nan, rollouts.logp.new_tensor(said))
        return rollouts.replace(extras={**rollouts.extras, "said": scores})

    @staticmethod
    def score_of(text: str) -> float:
        """The number that a judgment ends with."""
        found = find_answer(text)
        return float(found) if found is not None and 0 <= found <= TOP else math.nan

    @hookimpl
    def group_by(self, batch: Batch) -> Tensor:
        """[N, 2] prompt and role."""
        return torch.stack([batch.prompt, judged_by_role(batch)], 1)

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The task's reward of completions, the relative one of judgments."""
        batch = yield
        role = judged_by_role(batch)
        if not (role > 0).any():
            return batch
        judged = self.judged(batch, role)
        return in_place(batch, "judged", torch.where(role > 0, judged, batch.reward))

    @hookimpl
    def train_on(self, batch: Batch) -> Tensor:
        """[N] bool: judgments, and completions unless they are left out."""
        role = judged_by_role(batch)
        return (role > 0) | self.answers | ~(role > 0).any()

    def judged(self, batch: Batch, role: Tensor) -> Tensor:
        """[N] the reward of judgments."""
        said = batch.extras["said"].to(batch.rewards.dtype)
        prompts, chosen, rejected = Groups(batch.prompt), role == CHOSEN, role == REJECTED
        score = torch.where(said.isnan(), torch.where(chosen, 0.0, TOP), said)
        if self.form == "mean":
            delta = float(self.strength - 2)
            good = score > prompts.mean(score, rejected) + delta
            low = score < prompts.mean(score, chosen) - delta
            right = 2 * torch.where(chosen, good, low).to(score.dtype) - 1
        else:
            pairs = Pairs.of(prompts)
            table, sides = pairs.table(score), pairs.table(role)
            across = (sides[:, :, None] + sides[:, None, :] == CHOSEN + REJECTED) & (sides[:, :, None] > 0)
            across = across & (sides[:, None, :] > 0)
            sign = torch.where(sides == CHOSEN, 1, -1)[:, :, None]
            chance = ((table[:, :, None] - table[:, None, :]) * sign).sigmoid() * across
            right = pairs.rows(chance.sum(2) / across.sum(2).clamp_min(1))
        return right - self.invalid * said.isnan()

    def _shown(self, batch: Batch, row: int, state: Any) -> str:
        return self.template.format(prompt=batch.prompts[row].text, answer=text_of(batch, row, state.policy))
