"""Tasks that do not score as they say, and verifiers that fail: in training and in evaluation."""

import numpy as np
import pytest

from harness.errors import HarnessError
from harness.evaluation import evaluate
from harness.policies.random import tiny_policy
from harness.tasks.base import Problem, Task
from harness.tasks.verdicts import scored
from harness.training.config import EvaluationConfig


class Any(Task):
    """Gives what a test wants."""

    name = "any"
    columns = ("correct", "style")
    correct_column = "correct"
    max_tokens = 4
    timeouts = 0

    def __init__(self, give, late=0):
        self.reward_weights = {"correct": 1.0, "style": 0.1}
        self.give, self.late = give, late

    def problems(self, split, limit=None):
        return [Problem(f"any:{split}:{i}", f"{i}=", "any", i) for i in range(20)][:limit]

    def score_texts(self, problems, texts, truncated, *, sandbox=None):
        self.timeouts += self.late
        return self.give(len(texts))


def ask(task, count=40):
    problems = [task.problems("test")[0]] * count
    return scored(task, problems, ["a"] * count, [False] * count)


def missing(share):
    def give(count):
        verdicts = [None if i < share * count else 1.0 for i in range(count)]
        return {"correct": verdicts, "style": np.full(count, np.nan)}

    return give


def test_a_column_may_not_apply_and_a_few_verdicts_may_be_missing():
    columns = ask(Any(missing(0.1)))
    assert np.isnan(columns["correct"]).sum() == 4
    assert np.isnan(columns["style"]).all()
    assert columns["correct"].dtype == np.float64


@pytest.mark.parametrize(
    ("give", "told"),
    [
        (lambda n: {"correct": np.ones(n)}, r"gave columns \['correct'\], not \['correct', 'style'\]"),
        (lambda n: {"correct": np.ones(n), "style": np.ones(n), "x": np.ones(n)}, r"gave columns .*'x'"),
        (lambda n: {"correct": np.ones(n - 1), "style": np.ones(n)}, r"'correct' has shape \(39,\) for 40 texts"),
        (lambda n: {"correct": np.ones((n, 1)), "style": np.ones(n)}, r"'correct' has shape \(40, 1\) for 40 texts"),
        (lambda n: {"correct": np.full(n, np.inf), "style": np.ones(n)}, "'correct' holds an infinite value"),
        (lambda n: {"correct": ["yes"] * n, "style": np.ones(n)}, "'correct' holds what is no number"),
        (missing(0.2), "gave no verdict on 8 of 40 texts"),
        (missing(1.0), "gave no verdict on 40 of 40 texts"),
    ],
)
def test_what_is_not_as_declared_ends_in_one_line(give, told):
    with pytest.raises(HarnessError, match=f"^task 'any': .*{told}") as raised:
        ask(Any(give))
    assert "\n" not in str(raised.value)


def test_a_verifier_that_is_late_on_most_of_a_batch_ends_it():
    good = lambda n: {"correct": np.zeros(n), "style": np.zeros(n)}  # noqa: E731
    ask(Any(good, late=20))
    with pytest.raises(HarnessError, match="ran out of time on 21 of 40 texts"):
        ask(Any(good, late=21))
    ask(Any(good, late=10), count=10)  # too few to say anything


def test_an_evaluation_counts_missing_verdicts_as_wrong():
    config = EvaluationConfig(problems=10, samples=3)
    row = evaluate(tiny_policy(), [Any(missing(0.1))], config, seed=0).tasks["any"]
    assert row["failed"] == 4
    assert row["pass_at_1"] * 30 + row["accuracy"] * 10 == pytest.approx(36)
    clean = evaluate(tiny_policy(), [Any(missing(0.0))], config, seed=0).tasks["any"]
    assert "failed" not in clean
