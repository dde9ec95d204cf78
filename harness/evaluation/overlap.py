"""Whether what `evaluation.tasks` ask is trained on, by hashes of normalised questions, where their data are here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError, UsageError
from harness.evaluation.others import split_names
from harness.tasks.load import load_task, task_names
from harness.tasks.placing import asked_by, codes

if TYPE_CHECKING:
    from harness.tasks.base import Problem
    from harness.training.config import EvaluationConfig

__all__ = ["overlap_notes"]

MOST = 0.1  # a larger share of a task's questions that are trained on makes its numbers worthless


def overlap_notes(config: EvaluationConfig, trained: Iterable[Problem]) -> list[str]:
    """A line for every task some of whose questions are trained on, and for every one that could not be compared.

    Raises UsageError where more than a tenth of a task's questions are trained on.
    """
    known = {code for problem in trained for code in asked_by(problem)}
    notes = []
    for name, questions in _questions(config):
        if questions is None:
            notes.append(f"evaluation.tasks: the data of {name} are not here: whether they are trained on is not known")
            continue
        both = sum(not known.isdisjoint(one) for one in questions)
        said = f"evaluation.tasks: {both} of the {len(questions)} questions of {name} are trained on"
        if both > MOST * len(questions):
            raise UsageError(f"{said}; leave the task out, or train on data without them")
        if both:
            notes.append(f"{said}: its numbers are memory in part")
    return notes


def _questions(config: EvaluationConfig) -> Iterator[tuple[str, list[set[int]] | None]]:
    """Of every task the codes by which each of its questions may be known; None where its data are not here."""
    ours, theirs = split_names(config.tasks)
    for name in ours:
        problems = load_task(name).problems(config.split, config.problems)
        yield name, [set(asked_by(problem)) for problem in problems]
    for name in theirs:
        try:
            yield name, list(_of_lm_eval(name, config.problems))
        except HarnessError:
            yield name, None


def _of_lm_eval(name: str, limit: int) -> Iterator[set[int]]:
    """Of a task of lm-eval the codes of every text in a document: each data set names its question differently."""
    from harness.evaluation.external import CODE_TASKS, documents

    if name in CODE_TASKS:
        for problem in load_task(CODE_TASKS[name]).problems("test", limit):
            yield set(asked_by(problem))
        return
    for document, prompt in documents(name, limit, known=task_names()):
        texts: Sequence[Any] = [*document.values(), prompt]
        yield {code for text in texts if isinstance(text, str) for code in codes(text)}
