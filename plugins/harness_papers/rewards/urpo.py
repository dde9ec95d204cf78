"""URPO: one policy answers and judges; it learns to judge where answers are known, and judges where they are not."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.tasks.answers import numbers
from harness.tasks.base import stable_hash
from harness_papers.judging import judged_by_role, rows_of_prompts, text_of, with_role
from harness_papers.reward_columns import in_place

if TYPE_CHECKING:
    from harness import Batch

TOP = 10.0  # what a score of an open prompt is divided by


def agreement(said: Sequence[float], gold: Sequence[float]) -> float:
    """Concordant less discordant pairs over the pairs that gold orders; equal scores are discordant; 0 for none."""
    signs = [1 if (a - b) * (c - d) > 0 else -1
             for (a, c), (b, d) in combinations(zip(said, gold, strict=True), 2) if c != d]  # fmt: skip
    return sum(signs) / len(signs) if signs else 0.0


@method(name="urpo", paper="2507.17515", base="grpo(beta=0)", experimental=True)
class URPO:
    """The policy scores its own answers: it is rewarded for the right order where that is known, else it is the reward.

    Answers of most prompts have the task's reward. For `candidates` answers of such a prompt, in a second round,
    `judgments` completions of `template` give a score each: R = (concordant - discordant) / pairs with the order of the
    task's rewards. A share `open` of the prompts hides the task's reward: there all answers are scored, and an answer's
    reward is the mean of its scores, over 10. Answers and judgments are groups of their own.

    The paper has preference data and open-ended prompts; here they are made from the tasks' own. Which prompts are open
    is fixed by their names. The form of the agreement is not verified; ties of scores count as discordant.
    Edge cases: a judgment without a score for every answer has R = 0; an open prompt without any such, and judgments of
    open prompts, have no reward; a single round (the suite's cap) leaves open prompts without reward.
    Source: arXiv 2507.17515, the abstract and summaries. Confidence: secondary.
    """

    open: float = 0.25
    candidates: int = 4
    judgments: int = 4
    template: str = "{prompt}{answers}\nscores 0-10:"

    @hookimpl
    def start(self) -> None:
        """Nothing asked."""
        self.asked: dict[str, list[int]] = {}  # by prompt: the rollout numbers of the answers that are judged

    @hookimpl
    def next_round(self, batch: Batch, round: int, state: Any) -> Sequence[Any] | None:  # noqa: A002 - its name
        """Judgments of the answers of every prompt that has a pair to order, or is open."""
        if round > 0:
            return None
        self.asked, requests = {}, []
        for key, rows in rows_of_prompts(batch, batch.kept).items():
            shown = rows if self.is_open(key) else rows[: self.candidates]
            if self.is_open(key) or len(set(batch.reward[shown].tolist())) > 1:
                self.asked[key] = batch.rollout[shown].tolist()
                answers = "".join("\n" + text_of(batch, row, state.policy) for row in shown)
                text = self.template.format(prompt=batch.prompts[rows[0]].text, answers=answers)
                requests.append(state.request(key, n=self.judgments, text=text))
        return requests or None

    @hookimpl(wrapper=True)
    def generate(self, state: Any) -> Generator[None, Any, Any]:
        """Who judges, and the scores [M, answers], NaN where there is not one for every answer."""
        rollouts = with_role((yield), state.round)
        if not state.round:
            return rollouts
        rows = []
        for place, text in zip(rollouts.index.tolist(), rollouts.texts, strict=True):
            said = [float(x) for x in numbers(text)]
            wanted = len(self.asked.get(rollouts.requests[place].key, ()))
            rows.append(said if len(said) == wanted else [math.nan] * wanted)
        width = max(map(len, rows), default=0)
        table = rollouts.logp.new_tensor([row + [math.nan] * (width - len(row)) for row in rows])
        return rollouts.replace(extras={**rollouts.extras, "scores": table.reshape(len(rows), width)})

    @hookimpl
    def group_by(self, batch: Batch) -> Tensor:
        """[N, 2] prompt and role."""
        return torch.stack([batch.prompt, judged_by_role(batch)], 1)

    @hookimpl
    def augment(self, batch: Batch) -> Batch:
        """The reward of every row, in `extras["unified"]`."""
        judge = judged_by_role(batch) > 0
        found = torch.where(judge, torch.nan, batch.reward)
        hidden = torch.tensor([self.is_open(record.key) for record in batch.prompts], dtype=torch.bool)
        found = torch.where(hidden.to(found.device) & ~judge, torch.nan, found)
        judgments = rows_of_prompts(batch, judge)
        for key, rows in rows_of_prompts(batch, ~judge).items():
            place = dict(zip(batch.rollout[rows].tolist(), rows, strict=True))
            shown = [place[rollout] for rollout in self.asked.get(key, ()) if rollout in place]
            for row, value in self._rewards(batch, key, judgments.get(key, []), shown).items():
                found[row] = value
        return batch.with_extras(unified=found)

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """That reward in place of the task's columns."""
        batch = yield
        unified = batch.extras.get("unified")
        return batch if unified is None else in_place(batch, "unified_reward", unified)

    def is_open(self, key: str) -> bool:
        """Whether a prompt hides the task's reward."""
        return stable_hash(f"open/{key}") % 1000 < 1000 * self.open

    def _rewards(self, batch: Batch, key: str, judges: Sequence[int], shown: Sequence[int]) -> Mapping[int, float]:
        """By row: of the judgments, or, where the prompt is open, of the answers."""
        if not judges or not shown:
            return {}
        scores = batch.extras["scores"][judges, : len(shown)].tolist()
        valid = [row for row in scores if not any(map(math.isnan, row))]
        if self.is_open(key):
            return (
                {row: sum(said[i] for said in valid) / len(valid) / TOP for i, row in enumerate(shown)} if valid else {}
            )
        gold = batch.reward[list(shown)].tolist()
        return {row: 0.0 if any(map(math.isnan, said)) else agreement(said, gold)
                for row, said in zip(judges, scores, strict=True)}  # fmt: skip
