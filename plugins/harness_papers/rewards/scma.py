"""SCMA: one policy reasons, and rates the importance of what it wrote; unimportant pieces make an answer long."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import Groups, hookimpl, method
from harness_papers.judging import judged_by_role, rows_of_prompts, text_of, with_role
from harness_papers.reward_columns import in_place
from harness_papers.step_values import step_ends, step_numbers

if TYPE_CHECKING:
    from harness import Batch

RATINGS = re.compile(r"[1-5](?:[ ,;]*[1-5])*", re.ASCII)


def effective_length(sizes: Sequence[int], ratings: Sequence[int]) -> float:
    """The sum over the pieces of (5 - rating) / 4 of their tokens; all tokens where ratings do not fit the pieces."""
    if len(sizes) != len(ratings):
        return float(sum(sizes))
    return sum((5 - rating) / 4 * size for size, rating in zip(sizes, ratings, strict=True))


@method(name="scma", paper="2601.21919", base="grpo(beta=0)", experimental=True)
class SCMA:
    """Every answer's pieces are rated 1 to 5 by the policy itself, and both roles share the reward for a short answer.

    L_i = sum_k (5 - rating_k) / 4 * tokens_k;  R_i = c_i - alpha L_i / (mean tokens of the prompt's answers) for the
    answer and for its rating, in place of the task's columns; the rating loses `malformed` more if it is not one digit
    from 1 to 5 for every piece, and then L_i is the whole length. Answers and ratings are groups of their own.

    Ratings are written in a second round, one an answer, by `template`. The paper's third role, which cuts answers into
    pieces, is a rule here: a token with a character of `boundary` ends one. The form and alpha are reconstructed.
    Risk: sharing the reward tempts the rater to find everything important.
    Edge cases: an empty answer has L = 0; a single round (the suite's cap) leaves a plain penalty on lengths.
    Source: arXiv 2601.21919, the abstract and summaries. Confidence: secondary (reconstructed).
    """

    alpha: float = 0.2
    malformed: float = 0.5
    boundary: str = ";\n"
    template: str = "{prompt}{answer}\nrate each 1-5:"

    @hookimpl
    def start(self) -> None:
        """Nothing asked."""
        self.asked: dict[str, list[int]] = {}  # by prompt: the rollout numbers of the answers, in order
        self.said: dict[str, list[list[int]]] = {}  # by prompt: their ratings, empty where malformed

    @hookimpl
    def next_round(self, batch: Batch, round: int, state: Any) -> Sequence[Any] | None:  # noqa: A002 - its name
        """A rating of every answer."""
        if round > 0:
            return None
        rows = rows_of_prompts(batch, batch.kept)
        self.asked = {key: batch.rollout[mine].tolist() for key, mine in rows.items()}
        self.said = {}
        return [self._ask(batch, row, state) for mine in rows.values() for row in mine] or None

    @hookimpl(wrapper=True)
    def generate(self, state: Any) -> Generator[None, Any, Any]:
        """Who rates, and what."""
        rollouts = with_role((yield), state.round)
        if state.round:
            cut = rollouts.truncated.tolist()
            for place, text, stopped in zip(rollouts.index.tolist(), rollouts.texts, cut, strict=True):
                whole = None if stopped else RATINGS.fullmatch(text.strip())
                ratings = [int(digit) for digit in re.findall(r"[1-5]", text)] if whole else []
                self.said.setdefault(rollouts.requests[place].key, []).append(ratings)
        return rollouts

    @hookimpl
    def group_by(self, batch: Batch) -> Tensor:
        """[N, 2] prompt, and answers apart from ratings."""
        return torch.stack([batch.prompt, (judged_by_role(batch) > 0).long()], 1)

    @hookimpl
    def augment(self, batch: Batch, state: Any) -> Batch:
        """What both roles of an answer are paid for: effective lengths, the verdict, and whether a rating fits."""
        rates = judged_by_role(batch) > 0
        step = step_numbers(batch, step_ends(state.policy, self.boundary))
        length, right = batch.lengths.to(batch.rewards.dtype), batch.correct.clone()
        fits = torch.ones_like(rates)
        raters = rows_of_prompts(batch, rates)
        for key, rows in rows_of_prompts(batch, ~rates).items():
            place = dict(zip(batch.rollout[rows].tolist(), rows, strict=True))
            known = zip(self.asked.get(key, ()), raters.get(key, ()), self.said.get(key, ()), strict=False)
            for rollout, rater, ratings in known:
                row = place.get(rollout)
                if row is not None:
                    sizes = step[row, : int(batch.lengths[row])].unique(return_counts=True)[1].tolist()
                    fits[rater] = len(sizes) == len(ratings)
                    length[row] = length[rater] = effective_length(sizes, ratings)
                    right[rater] = right[row]
        return batch.with_extras(effective=length, right=right, fits=fits)

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """The shared reward."""
        batch = yield
        rates = judged_by_role(batch) > 0
        lengths = batch.lengths.to(batch.rewards.dtype)
        usual = Groups(batch.prompt).mean(lengths, ~rates).clamp_min(1)
        length, right = (
            batch.extras.get("effective", lengths),
            batch.extras.get("right", batch.correct).to(lengths.dtype),
        )
        unfit = ~batch.extras.get("fits", torch.ones_like(rates)) & rates
        reward = right - self.alpha * length / usual - self.malformed * unfit
        return in_place(batch, "compressed", reward)

    def _ask(self, batch: Batch, row: int, state: Any) -> Any:
        shown = text_of(batch, row, state.policy)
        text = self.template.format(prompt=batch.prompts[row].text, answer=shown)
        return state.request(batch.prompts[row].key, n=1, text=text)
