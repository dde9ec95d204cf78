"""FGRPR: a numeric answer earns more the closer it is."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness import hookimpl, method
from harness.tasks.answers import find_answer, number
from harness_papers.reward_columns import in_place

if TYPE_CHECKING:
    from harness import Batch


@method(paper="2504.03724", base="grpo(beta=0)", scope="group")
class FGRPR:
    """An accuracy reward that grows as the number gets closer, and is nothing beyond a relative error.

    g = |y - y_hat| / |y|;  R_i = offset - g if g < reach, else 0;  plus the column `form`, in place of the task's
    columns. The answer is the number behind the last mark, or the last one.

    Rows whose task has no numeric answer keep their reward. A single `#` marks an answer as `####` does.
    Edge cases: no number and cut-off texts give 0; y = 0 is all or nothing (the authors' counts are positive); there is
    a jump from 1 to 0 at g = reach.
    Source: arXiv 2504.03724, the authors' code. Confidence: code.
    """

    offset: float = 1.5
    reach: float = 0.5
    form: str = "format"

    @hookimpl
    def score(self, rollouts: Any, task: Any) -> Mapping[str, Tensor]:
        """The column `close`."""
        problems = [task.problem(rollouts.requests[place].key) for place in rollouts.index.tolist()]
        found = [
            self.close(problem.answer, text, cut=cut)
            for problem, text, cut in zip(problems, rollouts.texts, rollouts.truncated.tolist(), strict=True)
        ]
        return {"close": rollouts.logp.new_tensor(found)}

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """Closeness and format where the answer is a number."""
        batch = yield
        if "close" not in batch.reward_names:
            return batch
        close = batch.rewards[:, batch.reward_names.index("close")]
        if self.form in batch.reward_names:
            close = close + batch.rewards[:, batch.reward_names.index(self.form)].nan_to_num()
        return in_place(batch, "fuzzy", torch.where(close.isnan(), batch.reward, close))

    def close(self, answer: Any, text: str, *, cut: bool = False) -> float:
        """The reward of one text; NaN where the answer is no number."""
        gold = number(answer) if isinstance(answer, str) else answer
        if not isinstance(gold, Rational):
            return float("nan")
        found = None if cut else find_answer(text if "####" in text else text.replace("#", " #### "))
        if found is None:
            return 0.0
        exact = Fraction(gold)
        gap = abs(exact - found) / abs(exact) if exact else (0 if found == 0 else self.reach)
        return float(self.offset - gap) if gap < self.reach else 0.0
