"""Two readings of an answer: any form, which scores and trains, and the form that the task asks for, which is shown."""

import json

import numpy as np
import pytest

from harness.evaluation import evaluate
from harness.policies.rollouts import Request
from harness.policies.sampler import Sampler
from harness.tasks.code import CodeTask
from harness.tasks.hf import DatasetTask
from harness.tasks.math import MathTask
from harness.training.config import EvaluationConfig
from tests.evaluation.test_evaluate import Parity

SPELLINGS = {  # of the answer 18: right at all, right as asked
    "so it is #### 18": (1, 1),
    "#### 18.00": (1, 1),
    "#### $18": (1, 1),
    r"\boxed{18}": (1, 1),
    "6 * 3 = 18": (1, 0),
    "The answer is 18.": (1, 0),
    "Answer: 18 eggs": (1, 0),
    "18 it is, and not 17": (0, 0),
    "#### 17": (0, 0),
    "18 #### seventeen": (0, 0),
    "": (0, 0),
}


def numbers(tmp_path):
    for split in ("train", "test"):
        row = {"question": f"How many? {split}", "answer": "18"}
        (tmp_path / f"{split}.jsonl").write_text(json.dumps(row) + "\n")
    files = {split: str(tmp_path / f"{split}.jsonl") for split in ("train", "test")}
    return DatasetTask(name="eggs", files=files, question="question", answer="answer", verify="number")


@pytest.mark.parametrize(("text", "verdict"), SPELLINGS.items())
def test_spellings_of_a_number(tmp_path, text, verdict):
    task = numbers(tmp_path)
    columns = task.score_texts(task.problems("test"), [text], [False])
    assert (task.correct(columns).tolist(), task.strict(columns).tolist()) == ([bool(verdict[0])], [bool(verdict[1])])


def test_a_cut_answer_is_neither(tmp_path):
    task = numbers(tmp_path)
    columns = task.score_texts(task.problems("test"), ["#### 18"], [True])
    assert [task.correct(columns)[0], task.strict(columns)[0]] == [False, False]


class Picky(MathTask):
    """Asks for a text of an even length, which nothing teaches."""

    def well_formed(self, text):
        return len(text) % 2 == 0


def test_an_evaluation_reports_both_and_scores_the_lenient_one(embedded):
    task, config = Picky(), EvaluationConfig(problems=6, samples=4, temperature=1.3)
    report = evaluate(embedded, [task], config, seed=2)
    strict = []
    for problem in task.problems("test", 6):
        request = Request(
            problem.key, tuple(embedded.encode_prompt(problem.prompt)), 4, temperature=1.3, max_tokens=task.max_tokens
        )
        out = Sampler(embedded).generate([request], seed=2, step=0, stream="evaluation")
        columns = task.score_texts([problem] * 4, out.texts, out.truncated.tolist())
        strict.append(np.mean((columns["correct"] > 0) & (columns["format"] > 0)))
    row = report.tasks["math"]
    assert row["strict"] == pytest.approx(np.mean(strict))
    assert 0 < row["strict"] < row["pass_at_1"] == report.score


def test_a_task_that_asks_for_no_form_has_no_strict_score(embedded):
    (row,) = evaluate(embedded, [Parity()], EvaluationConfig(problems=3, samples=1), seed=0).tasks.values()
    assert "strict" not in row
    assert Parity().strict({}) is None
    assert CodeTask.answer_format == "format"
