"""Small Python functions asked for in English: known programs pass, near misses and cut texts do not."""

import pytest

from harness.errors import HarnessError, UsageError
from harness.tasks.base import SPLITS
from harness.tasks.programs import fence_end
from harness.tasks.python_functions import KINDS, PythonFunctionTask

ANSWERS = {
    "times plus": "{0} * x + {1}", "times minus": "{0} * x - {1}", "plus": "x + {0}", "square": "x ** 2 + {0}",
    "remainder": "x % {0}", "floor": "x // {0}", "distance": "abs(x - {0})", "at most": "min({0}, x)",
    "divisible": "not x % {0}", "scaled": "[{0} * n for n in numbers]", "shifted": "[n + {0} for n in numbers]",
    "above": "[n for n in numbers if n > {0}]", "below": "[n for n in numbers if n < {0}]",
    "count above": "len([n for n in numbers if n > {0}])", "sum of multiples": "sum(n for n in numbers if not n % {0})",
    "total": "sum(numbers) - {0}", "largest": "max(numbers) + {0}", "first": "items[:{0}]", "last": "items[-{0}:]",
    "without": "[i for i in items if i != {0}]", "repeat": "text * {0}", "count letter": "text.count('{0}')",
    "remove": "text.replace('{0}', '')", "replace": "text.replace('{0}', '{1}')", "starts": "text[:1] == '{0}'",
    "append": "text + '{0}' * {1}", "longer": "len(text) > {0}",
}  # fmt: skip


def program(problem, expression=None):
    kind = KINDS[problem.data["kind"]]
    parameters = problem.data["canonical"].partition(":")[2].split(",")
    return f"def {kind.signature}:\n    return {expression or ANSWERS[problem.data['kind']].format(*parameters)}\n"


def of_kind(kind, split="test"):
    return PythonFunctionTask(kinds=[kind]).problems(split)[0]


def scores(sandbox, problem, *texts, truncated=False):
    problems = [problem] * len(texts)
    columns = PythonFunctionTask().score_texts(problems, texts, [truncated] * len(texts), sandbox=sandbox)
    return {name: values.tolist() for name, values in columns.items()}


def test_a_program_of_another_writer_passes_every_kind(limits):
    problems = [problem for split in SPLITS for problem in PythonFunctionTask().problems(split, 54)]
    assert {p.data["kind"] for p in problems} == set(KINDS) == set(ANSWERS)
    texts = [f"Here it is:\n```python\n{program(p)}```\nIt works." for p in problems]
    columns = PythonFunctionTask().score_texts(problems, texts, [False] * len(texts), sandbox=limits)
    wrong = [p.key for p, right in zip(problems, columns["correct"], strict=True) if not right]
    assert wrong == []


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_constant_passes_none(limits, kind):
    problem = of_kind(kind)
    texts = [program(problem, value) for value in ("0", "True", "False", "[]", "''", "None")]
    assert scores(limits, problem, *texts)["correct"] == [0] * len(texts)


def test_partial_credit_names_and_form(limits):
    problem = of_kind("at most")
    found = scores(limits, problem, program(problem, "x"), program(problem).replace("limit", "other"), "no code")
    assert found["correct"] == [0, 0, 0]
    assert 0 < found["pass_fraction"][0] < 1
    assert found["pass_fraction"][1:] == [0, 0]
    assert found["format"] == [1, 1, 0]


def test_talk_behind_the_block_is_ignored_and_a_cut_block_has_nothing(limits):
    problem = of_kind("plus")
    whole = f"```python\n{program(problem)}```\nThis function takes an inte"
    assert scores(limits, problem, whole, truncated=True)["correct"] == [1]
    cut = scores(limits, problem, f"```python\n{program(problem)}", truncated=True)
    assert cut == {"correct": [0], "pass_fraction": [0], "format": [0]}


def test_where_a_block_ends():
    assert fence_end("```python\nx\n```\nmore") == len("```python\nx\n```")
    assert fence_end("```python\nx\n") is None
    assert fence_end("```json\n{}\n```") is None


def test_splits_share_no_problem_and_kinds_take_turns():
    found = {split: [p.data["canonical"] for p in PythonFunctionTask().problems(split)] for split in SPLITS}
    everything = [canonical for split in SPLITS for canonical in found[split]]
    assert len(everything) == len(set(everything)) > 1500
    assert len(found["test"]) >= 150
    assert len({c.partition(":")[0] for c in found["train"][:27]}) == 27
    assert {c.partition(":")[0] for c in found["test"]} == set(KINDS)


def test_wrong_use_is_one_line():
    with pytest.raises(UsageError, match=r"no kind 'plos'\. Did you mean 'plus'"):
        PythonFunctionTask(kinds=["plos"])
    for kinds in ("plus", [], 3):
        with pytest.raises(UsageError, match=r"python-functions: kinds is a list of kinds, such as \["):
            PythonFunctionTask(kinds=kinds)
    with pytest.raises(HarnessError, match="was given no sandbox"):
        PythonFunctionTask().score_texts([of_kind("plus")], ["x"], [False])
