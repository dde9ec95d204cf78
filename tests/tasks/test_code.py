"""The code task: identifiable functions, hidden tests, and programs that run nowhere but in the sandbox."""

import ast
import builtins
from collections import Counter
from pathlib import Path

import pytest

import harness.tasks
from harness.errors import HarnessError
from harness.tasks.base import SPLITS
from harness.tasks.code import CodeTask, Program, program_of
from harness.tasks.functions import FAMILIES, HIDDEN, SHOWN, functions
from harness.tasks.sandbox import Outcome


class Stub:
    """Stands in for the sandbox: the answers are given, and the programs that were sent are kept."""

    def __init__(self, values: list[int | None]) -> None:
        self.values = values
        self.jobs = []

    def run(self, jobs):
        self.jobs += jobs
        return [Outcome(list(self.values)) for _ in jobs]


@pytest.fixture
def problem():
    return CodeTask().problems("test")[0]


def score(problem, texts, sandbox, truncated=False):
    columns = CodeTask().score_texts([problem] * len(texts), texts, [truncated] * len(texts), sandbox=sandbox)
    return {name: values.tolist() for name, values in columns.items()}


def test_all_hidden_tests_passed(problem):
    found = score(problem, ["2*x"], Stub(list(problem.answer)))
    assert found == {"all_passed": [1], "pass_fraction": [1], "runs": [1], "format": [1], "brevity": [0.925]}


def test_a_part_of_the_hidden_tests_passed(problem):
    values = [value + (place < 2) for place, value in enumerate(problem.answer)]
    found = score(problem, ["2*x"], Stub(values))
    assert found["all_passed"] == [0]
    assert found["pass_fraction"] == [0.75]
    assert found["runs"] == [1]


def test_an_error_on_one_input(problem):
    found = score(problem, ["2*x"], Stub([None, *problem.answer[1:]]))
    assert found["runs"] == [0]
    assert found["pass_fraction"] == [0.875]


@pytest.mark.parametrize("value", [True, "3", 3.5])
def test_values_of_another_kind_do_not_pass(problem, value):
    assert score(problem, ["x"], Stub([value] * len(HIDDEN)))["all_passed"] == [0]


def test_what_is_no_python_never_reaches_the_sandbox(problem):
    sandbox = Stub(list(problem.answer))
    found = score(problem, ["3x+", "", ")", "2*x\n3*x", "x" + "(" * 200], sandbox)
    assert not sandbox.jobs
    assert all(values == [0] * 5 for values in found.values())


def test_a_truncated_text_is_not_run(problem):
    sandbox = Stub(list(problem.answer))
    assert score(problem, ["2*x"], sandbox, truncated=True)["all_passed"] == [0]
    assert not sandbox.jobs


def test_equal_programs_run_once_and_get_inputs_only(problem):
    sandbox = Stub(list(problem.answer))
    score(problem, ["2*x", "2*x", "f(x)=2*x"], sandbox)
    assert [(job.source, job.inputs) for job in sandbox.jobs] == [("2*x", [[x] for x in HIDDEN])]


@pytest.mark.parametrize(
    ("text", "kind", "bare"),
    [
        ("3*x+1", "expression", True),
        ("9 if x%2 else -2", "expression", True),
        ("{1:4,3:10}[x]", "expression", True),
        (" 3*x+1", "expression", False),
        ("f(x)=3*x+1", "expression", False),
        ("return 3*x+1", "expression", False),
        ("lambda x:3*x+1", "function", False),
        ("def f(x):return 3*x+1", "function", False),
    ],
)
def test_spellings(text, kind, bare):
    program, is_bare = program_of(text)
    assert isinstance(program, Program)
    assert (program.kind, is_bare) == (kind, bare)


def test_without_a_sandbox_nothing_is_scored(problem):
    with pytest.raises(HarnessError, match="no sandbox"):
        score(problem, ["2*x"], None)


def test_no_module_of_the_tasks_executes_text():
    """Outside the sandbox's own process, `exec`, `eval` and `compile` are not called by any module of the tasks.

    But for `plain_eval`, which is there to let nothing but values through to other people's scorers.
    """
    for file in Path(harness.tasks.__file__).parent.glob("*.py"):
        if file.name == "plain_eval.py":
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"exec", "eval", "compile"}, f"{file.name}:{node.lineno}"


def test_texts_of_functions_compute_their_tables():
    """Every 7th function: its text (ours, not a policy's), evaluated, gives the table that it was built from."""
    for function in functions()[::7]:
        values = tuple(
            builtins.eval(function.text, {"x": x, "abs": abs, "max": max, "min": min}) for x in SHOWN + HIDDEN
        )
        assert values == function.shown + function.hidden, function.text


def test_splits_do_not_overlap():
    task = CodeTask()
    tables = {split: {p.data["canonical"] for p in task.problems(split)} for split in SPLITS}
    prompts = {split: {p.prompt for p in task.problems(split)} for split in SPLITS}
    for one, other in (("train", "test"), ("train", "validation"), ("validation", "test")):
        assert not tables[one] & tables[other]
        assert not prompts[one] & prompts[other]
    assert len(prompts["test"]) == len(task.problems("test")) == 1000


def test_families():
    assert len(FAMILIES) >= 6
    for split in SPLITS:
        shares = Counter(p.data["family"] for p in CodeTask().problems(split))
        assert set(shares) == set(FAMILIES)
        assert max(shares.values()) <= 0.25 * sum(shares.values())


def test_prompts_are_short_and_show_what_the_function_is_worth():
    for p in CodeTask().problems("validation"):
        assert len(p.prompt) <= 40
        pairs = dict(pair.split(":") for pair in p.prompt[:-1].split(","))
        assert {int(x): int(y) for x, y in pairs.items()} == {
            x: p.data["function"].shown[x - SHOWN[0]] for x in p.data["inputs"]
        }


def test_hidden_inputs_lie_outside_the_shown_range():
    assert not set(HIDDEN) & set(range(min(SHOWN), max(SHOWN) + 1))
