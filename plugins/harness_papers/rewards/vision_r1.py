"""Vision-R1's criteria for text: format, recall and precision of matched items, and a bar that rises."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from harness import hookimpl, method
from harness.tasks.answers import find_answer, number
from harness_papers.reward_columns import in_place

if TYPE_CHECKING:
    from harness import Batch

STATED = re.compile(r"[=#]\s*(-?\d{1,12})(?!\d)", re.ASCII)
NAMES = ("item_format", "item_recall", "item_precision")


def squash(x: float, low: float, high: float) -> float:
    """0 below low, 1 above high, x between."""
    return 0.0 if x < low else 1.0 if x > high else x


def criteria(found: Sequence[float], reference: Sequence[float], *, strict: bool) -> tuple[float, float]:
    """(recall, precision) of the best matching of numbers; quality 1 - |a - b| / max(|b|, 1), at least 0."""
    if not found or not reference:
        return (float(not reference),) * 2
    gap = np.abs(np.subtract.outer(np.asarray(found, float), np.asarray(reference, float)))
    quality = np.clip(1 - gap / np.maximum(np.abs(np.asarray(reference, float)), 1), 0, None)
    return rates(quality[linear_sum_assignment(-quality)].tolist(), len(reference), strict=strict)


def rates(matched: Sequence[float], references: int, *, strict: bool) -> tuple[float, float]:
    """(recall, precision) from the qualities of the matched pairs, under the early or the strict bar."""
    low, high = (0.75, 0.9) if strict else (0.5, 0.75)
    bar = 0.75 if strict else 0.5
    recall = squash(sum(squash(q, bar, bar) for q in matched) / references, 0.5, 0.75)
    return recall, sum(squash(q, low, high) for q in matched) / len(matched)


@method(name="vision-r1", paper="2503.18013", base="grpo(beta=0)")
class VisionR1:
    """Stated items are matched to the reference's; what counts as a match gets stricter once the policy is warm.

    R = format + recall + precision, in place of the task's columns. With matched qualities q: precision = mean of
    f(q; 0.5, 0.75), recall = f(sum f(q; 0.5, 0.5) / references; 0.5, 0.75), f(x; a, b) = 0 below a, 1 above b, else x;
    from step `strict_from` on precision has (0.75, 0.9) and recall's match 0.75. format: any item is stated.

    The paper matches boxes by their overlap. Here items are the numbers behind `=` or `#`, references the partial sums
    of an arithmetic problem, or the answer alone of any task with a numeric one; quality is 1 - relative error. Rows
    of other tasks keep their reward. Matching is least-cost.
    Edge cases: nothing stated, or cut off: 0; extra items are not punished by precision, as in the authors' code.
    Source: arXiv 2503.18013, the authors' code. Confidence: code (criteria); items of texts are ours.
    """

    strict_from: int = 1500

    @hookimpl
    def score(self, rollouts: Any, task: Any, state: Any) -> Mapping[str, Tensor]:
        """The three criteria; NaN for tasks without numeric items."""
        problems = [task.problem(rollouts.requests[place].key) for place in rollouts.index.tolist()]
        rows = [
            self.rate(problem, "" if cut else text, strict=state.step >= self.strict_from)
            for problem, text, cut in zip(problems, rollouts.texts, rollouts.truncated.tolist(), strict=True)
        ]
        table = rollouts.logp.new_tensor(rows).reshape(-1, len(NAMES))
        return {name: table[:, place] for place, name in enumerate(NAMES)}

    @hookimpl(wrapper=True)
    def shape_rewards(self) -> Generator[None, Batch, Batch]:
        """Their sum where there are items."""
        batch = yield
        if not set(NAMES) <= set(batch.reward_names):
            return batch
        total = sum(batch.rewards[:, batch.reward_names.index(name)] for name in NAMES)
        assert isinstance(total, Tensor)
        return in_place(batch, "items", torch.where(total.isnan(), batch.reward, total))

    @staticmethod
    def rate(problem: Any, text: str, *, strict: bool) -> tuple[float, float, float]:
        """(format, recall, precision) of one text."""
        terms = problem.data.get("terms")
        if terms is not None:
            reference = [float(total) for total in accumulate(terms)][1:]
            found = list(dict.fromkeys(float(item) for item in STATED.findall(text)))
        else:
            gold = number(problem.answer) if isinstance(problem.answer, str) else problem.answer
            if gold is None or not hasattr(gold, "numerator"):
                return (float("nan"),) * 3
            stated = find_answer(text)
            reference, found = [float(gold)], [] if stated is None else [float(stated)]
        return (float(bool(found)), *criteria(found, reference, strict=strict))
