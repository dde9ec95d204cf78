"""Tests written as asserts: what is called, with what, and what must come back."""

import pytest

from harness.errors import HarnessError, UsageError
from harness.tasks.asserts import Asserts, checks_of, equal
from harness.tasks.hf import DatasetTask
from harness.tasks.programs import is_python, program_text, run_tests
from harness.tasks.sandbox import Outcome, Sandbox, probe

MBPP = "assert add([1, 2], k=3) == [4, 5]\nassert add([], k=0) == []\nassert add((1,), k=1) == [2]"
HUMANEVAL = """
METADATA = {}

def check(candidate):
    assert candidate(2.0) == 4.0, "doubled"
    assert candidate(0) == 0
    assert not candidate(None)
    for i in range(3):
        assert candidate(i) == 2 * i
"""


def passes(outcome, checks):
    return all(Asserts(checks).verdicts(outcome, None))


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(probe().mode, seconds=0.5) as box:
        yield box


def test_checks_hold_calls_and_expected_values_apart():
    checks = checks_of(MBPP)
    assert [(c.name, c.arguments, c.expected) for c in checks] == [
        ("add", "([[1, 2]], {'k': 3})", [4, 5]),
        ("add", "([[]], {'k': 0})", []),
        ("add", "([(1,)], {'k': 1})", [2]),
    ]


def test_the_candidate_is_the_entry_and_computed_tests_are_left_out():
    checks = checks_of(HUMANEVAL, entry="double")
    assert [(c.name, c.arguments, c.expected) for c in checks] == [
        ("double", "([2.0], {})", 4.0),
        ("double", "([0], {})", 0),
        ("double", "([None], {})", False),
    ]


@pytest.mark.parametrize(
    "source",
    [
        "",
        "assert",
        "x = 1",
        "assert f(x) == 1",
        "assert f(1) == g(2)",
        "assert f(1) > 0",
        "assert a.f(1) == 1",
        "assert f(*a) == 1",
    ],
)
def test_what_is_no_comparison_of_a_call_with_a_literal_is_left_out(source):
    assert checks_of(source) == ()


def test_the_first_function_is_the_one_that_is_tested():
    assert [c.name for c in checks_of("assert f(1) == 1\nassert g(1) == 1\nassert f(2) == 2")] == ["f", "f"]


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("def f(): pass", "def f(): pass"),
        ("Sure!\n```python\ndef f(): pass\n```\nDone", "def f(): pass\n"),
        ("```\ndef f(): pass", "def f(): pass"),
        ("```Python\ndef f(): pass\n```\nDone", "def f(): pass\n"),
        ("```python3 title=a\r\ndef f(): pass\r\n```\r\nDone", "def f(): pass\n"),
        ("```bash\npip install x\n```\n```py\ndef f(): pass\n```\nDone", "def f(): pass\n"),
        ("  ```python\n  def f(): pass\n  ```", "def f(): pass\n"),
        ("Perhaps\n```python\nno\n```\n</think>\n```python\ndef f(): pass\n```", "def f(): pass\n"),
        ("```python\ndef f(): pass\n```\n```python\nprint(f())\n```", "def f(): pass\n"),
    ],
)
def test_program_text(text, program):
    assert program_text(text) == program


def test_a_prefix_is_continued_unless_the_text_starts_anew():
    assert program_text("    return 1", "def f():\n") == "def f():\n    return 1"
    assert program_text("```python\ndef f(): return 2\n```", "def f():\n") == "def f(): return 2\n"


def test_a_fenced_body_keeps_its_indentation():
    assert program_text("```python\n    return 2\n```", "def f():\n") == "def f():\n    return 2\n"


@pytest.mark.parametrize(
    ("found", "expected", "same"),
    [
        (10**400, 1.5, False),
        (-(10**400), float("-inf"), False),
        (float("inf"), 1.5, False),
        ({"a": 0.30000000000000004}, {"a": 0.3}, True),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"a": True}, {"a": 1}, False),
        ([1, [2.0]], [1, [2.0000001]], True),
        (1, True, False),
        (1 + 0j, 1.0, True),  # as in Python
    ],
)
def test_equal_values(found, expected, same):
    assert equal(found, expected) is same


@pytest.mark.parametrize(
    ("values", "right"),
    [
        (["[4, 5]", "[]", "[2]"], True),
        (["[4, 5]", "[]", "(2,)"], False),
        (["[4, 5]", "[]", None], False),
        (["[4, 5]", "[]", "[True]"], False),
        (["[4, 5]", "[]", "[" * 5000], False),
        ([[4, 5], [], [2]], False),
    ],
)
def test_passes(values, right):
    assert passes(Outcome(values), checks_of(MBPP)) is right


def test_floats_compare_within_a_tolerance_and_sets_as_sets():
    checks = checks_of("assert f(1) == 0.3\nassert f(2) == {1, 2}")
    assert passes(Outcome(["0.30000000000000004", "{2, 1}"]), checks)
    assert not passes(Outcome(["0.31", "{2, 1}"]), checks)
    assert not passes(Outcome(["True", "{2, 1}"]), checks_of("assert f(1) == 1\nassert f(2) == {1, 2}"))


def test_expected_values_never_enter_the_sandbox():
    checks = checks_of("assert f(1) == 'the secret'")
    assert "secret" not in repr(Asserts(checks).job("def f(x): return x"))


def test_programs_in_the_sandbox(sandbox):
    checks = checks_of("assert f(5) == 120\nassert f(0) == 1")
    good = "def f(n):\n    return 1 if n == 0 else n * f(n - 1)"
    texts = [
        good,
        "def f(n): return 120",
        "def g(n): return 1",
        "def f(n",
        "import os\nos._exit(0)",
        f"{good}\nscope = ast = None",
    ]
    found = run_tests(texts, [Asserts(checks)] * len(texts), sandbox)
    assert [bool(row.all()) for row in found] == [True, False, False, False, False, True]


def test_is_python():
    assert is_python("def f(): pass")
    assert not is_python("def f(")
    assert not is_python("(" * 5000)


@pytest.mark.parametrize(
    "text", ["", "\n", "# a thought", "pass", "42", "'a'\n42", "Hello", "Hello. World", "yes or no", "a, b"]
)
def test_what_does_nothing_is_no_program_though_it_parses(text):
    assert not is_python(text)
    assert is_python(f"{text}\nx = 1")


@pytest.mark.parametrize(
    "text", ["print(1)", "import sys", "x = 1", "f = lambda x: x", "class A: pass", "[print(x) for x in 'ab']"]
)
def test_what_does_something_is_one(text):
    assert is_python(text)


def test_a_data_set_of_programs(tmp_path, sandbox):
    (tmp_path / "mbpp.jsonl").write_text(
        '{"text": "Add k to all.", "test_list": ["assert add([1], 2) == [3]", "assert add([], 1) == []"]}\n'
        '{"text": "No tests.", "test_list": []}\n'
    )
    settings = {"name": "mbpp", "files": {"test": str(tmp_path / "mbpp.jsonl")}, "question": "text", "verify": "code"}
    task = DatasetTask(**settings, tests="test_list")
    assert task.needs_sandbox
    assert len(task.problems("test")) == 1
    assert task.counts.unreadable == 1
    problem = task.problems("test")[0]
    texts = [
        "```python\ndef add(a, k):\n    return [x + k for x in a]\n```",
        "def add(a, k): return a",
        "no",
        "while True: pass",
    ]
    columns = task.score_texts([problem] * 4, texts, [False] * 4, sandbox=sandbox)
    assert columns["correct"].tolist() == [1, 0, 0, 0]
    assert columns["format"].tolist() == [1, 1, 0, 1]
    with pytest.raises(HarnessError, match="sandbox"):
        task.score_texts([problem], texts[:1], [False])
    with pytest.raises(UsageError, match="tests names the field"):
        DatasetTask(**settings)


def test_checks_read_as_they_were_written():
    checks = checks_of("assert f([1, 'a'], k=3) == {'x': 2}\nassert f(0, k=1) == None")
    assert str(Asserts(checks)) == "f([1, 'a'], k=3) == {'x': 2}\nf(0, k=1) == None"
