"""Tasks that are evaluated beside those that are trained on: how many of their questions are trained on."""

import json

import pytest

from harness.errors import HarnessError, UsageError
from harness.evaluation import external, overlap
from harness.evaluation.overlap import overlap_notes
from harness.suites.preflight import check_suite
from harness.suites.schema import Suite
from harness.tasks.base import Problem
from harness.tasks.load import load_task
from harness.tasks.placing import asked_by, codes, shared
from harness.training.config import EvaluationConfig


def question(number):
    return f"Ann has {number} apples and buys 3 more. How many has she?"


def file(tmp_path, name, train, test, prompt="{question}"):
    for split, numbers in (("train", train), ("test", test)):
        rows = [json.dumps({"question": question(n), "answer": n + 3}) for n in numbers]
        (tmp_path / f"{name}-{split}.jsonl").write_text("\n".join(rows))
    files = {split: str(tmp_path / f"{name}-{split}.jsonl") for split in ("train", "test")}
    settings = {"name": name, "files": files, "prompt": prompt, "question": "question", "answer": "answer"}
    path = tmp_path / f"{name}.yaml"
    path.write_text(json.dumps({**settings, "verify": "number"}))
    return str(path)


def suite(train, *others):
    settings = {"name": "s", "budget": {"rollouts": 10}, "tasks": [{"task": train}]}
    return Suite.model_validate({**settings, "evaluation": {"tasks": list(others)}})


def test_other_words_around_a_question_do_not_hide_it(tmp_path):
    train = file(tmp_path, "train", range(100), range(200, 210), prompt="Solve:\n{question}\nEnd with ####.")
    apart = file(tmp_path, "apart", range(300, 310), range(310, 410))
    assert check_suite(suite(train, apart)) == []
    numbers = [int(problem.answer) - 3 for problem in load_task(train).problems("train")]  # without those held out
    few = file(tmp_path, "few", range(300, 310), [*range(310, 400), *numbers[:5]])
    assert check_suite(suite(train, few)) == [
        f"evaluation.tasks: 5 of the 95 questions of {few} are trained on: its numbers are memory in part"
    ]
    many = file(tmp_path, "many", range(300, 310), [*range(310, 350), *numbers[:20]])
    with pytest.raises(UsageError, match=r"20 of the 60 questions of .*many.yaml are trained on; leave the task out"):
        check_suite(suite(train, many))


def test_two_tasks_of_a_suite_are_compared_by_their_questions_too(tmp_path):
    one = file(tmp_path, "one", range(100), range(200, 210), prompt="Solve:\n{question}")
    two = file(tmp_path, "two", range(300, 310), range(90, 100), prompt="{question}\nShow your work.")
    both = Suite.model_validate({"name": "s", "budget": {"rollouts": 10}, "tasks": [{"task": one}, {"task": two}]})
    with pytest.raises(UsageError, match=r"the tasks together have problems in two splits \(train/test 10\)"):
        check_suite(both)


@pytest.fixture
def lm_eval(tmp_path, monkeypatch):
    """A task of lm-eval's kind whose documents name the question their own way."""
    import datasets.config

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    external._index.cache_clear()
    rows = [{"instruction": f" {question(n).upper()}", "gold": str(n)} for n in range(10)]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "lm").mkdir()
    (tmp_path / "lm" / "apples.yaml").write_text(
        f"task: apples\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: {tmp_path}/data.jsonl}}}}\n"
        "test_split: test\ndoc_to_text: 'Q: {{instruction}}\\nA:'\ndoc_to_target: gold\noutput_type: generate_until\n"
    )
    (tmp_path / "lm" / "far.yaml").write_text(
        "task: far\ndataset_path: nobody/nothing\ntest_split: test\ndoc_to_text: q\ndoc_to_target: a\n"
        "output_type: generate_until\n"
    )
    index = external._index
    monkeypatch.setattr(external, "_index", lambda _, defaults: index(tmp_path / "lm", defaults=False))
    yield
    index.cache_clear()


def test_documents_of_lm_eval_are_compared_by_every_text_in_them(lm_eval):
    trained = [Problem(f"k{n}", f"Solve: {question(n)}", "t", n, {"question": question(n)}) for n in (3, 50)]
    config = EvaluationConfig(tasks=("apples", "far"))
    assert overlap_notes(config, trained) == [
        "evaluation.tasks: 1 of the 10 questions of apples are trained on: its numbers are memory in part",
        "evaluation.tasks: the data of far are not here: whether they are trained on is not known",
    ]
    assert overlap_notes(config.model_copy(update={"problems": 3, "tasks": ("apples",)}), trained) == []
    with pytest.raises(UsageError, match="1 of the 4 questions of apples"):
        overlap_notes(config.model_copy(update={"problems": 4}), trained)


def test_code_tasks_are_compared_through_their_mapping(monkeypatch):
    problems = [Problem(f"k{n}", f"def f{n}(): # a function that has a number", "mbpp", n) for n in range(30)]

    class Fake:
        def problems(self, split, limit):
            return problems[:limit]

    monkeypatch.setattr(overlap, "load_task", lambda name: Fake())
    (note,) = overlap_notes(EvaluationConfig(tasks=("mbpp",)), problems[:2])
    assert "2 of the 30 questions of mbpp" in note

    def missing(name):
        raise HarnessError("not here")

    monkeypatch.setattr(overlap, "load_task", missing)
    (note,) = overlap_notes(EvaluationConfig(tasks=("mbpp",)), problems[:2])
    assert "the data of mbpp are not here" in note


def test_a_short_question_is_known_by_its_prompt_alone():
    one, two = (Problem(k, f"x + {k} = 3\nSolve for x.", "t", 1, {"question": "Solve for x."}) for k in "12")
    assert codes("Solve for x.") == ()
    assert len(asked_by(one)) == 1
    assert shared({"train": [one], "test": [two]}, questions=True) == {}
    assert shared({"train": [one], "test": [one, one]}, questions=True) == {"train/test": 1}
