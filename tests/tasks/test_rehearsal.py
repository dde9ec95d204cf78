"""Tests that compute: noted on a known solution, judged without showing the test to the program."""

import pytest

from harness.tasks.programs import run_tests
from harness.tasks.rehearsal import Play, entry_of, rehearse
from harness.tasks.sandbox import Sandbox, probe

LOOP = "def check(candidate):\n    for i in range(3):\n        assert abs(candidate(i) - helper(i)) < 0.5, i\n"
SOLUTION = "def helper(x): return 2 * x\ndef double(x):\n    return x if x == 0 else 2 + double(x - 1)\n"


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(probe().mode, seconds=0.5) as box:
        yield box


def rehearsed(sandbox, tests=LOOP, solution=SOLUTION, *, setup="", shown=0):
    return rehearse([Play("double", tests, solution, setup)], sandbox, shown)[0]


def test_it_notes_the_calls_of_the_test_and_not_those_of_the_solution(sandbox):
    play = rehearsed(sandbox)
    assert play.calls == ("([0], {})", "([1], {})", "([2], {})")
    assert play.count == 3


def test_programs_are_judged_an_assert_at_a_time(sandbox):
    play = rehearsed(sandbox)
    programs = [
        "def double(x): return x + x",
        "def double(x): return 2",
        "def double(x): return 2 * x if x else 1 / 0",
        "def other(x): return 2 * x",
        "def double(",
        "def double(x): return float(2 * x) + 0.1",
    ]
    found = run_tests(programs, [play] * len(programs), sandbox)
    assert [row.tolist() for row in found] == [
        [True, True, True],
        [False, True, False],
        [False, True, True],
        [False] * 3,
        [False] * 3,
        [True, True, True],
    ]


def test_what_a_test_finds_beyond_the_solution_counts_too(sandbox):
    play = rehearsed(sandbox, "for x in double(2):\n    assert x == 1\n", "def double(x): return [1] * x")
    programs = ["def double(x): return [1] * x", "def double(x): return [1, 1, 7]", "def double(x): return [1]"]
    found = run_tests(programs, [play] * 3, sandbox)
    assert [row.tolist() for row in found] == [[True, True], [True, False], [True, False]]


@pytest.mark.parametrize(
    "body",
    [
        "class A:\n        __eq__ = __sub__ = __abs__ = __lt__ = lambda *a: True\n    return A()",
        "import builtins; builtins.abs = lambda x: 0\n    return 99",
        "import os; os._exit(0)",
        "raise SystemExit",
        "import sys; sys.exit = None; raise AssertionError",
        "return '1' * 9000",
        "return [" + "0, " * 5000 + "]",
    ],
)
def test_nothing_that_a_program_does_reaches_the_test(sandbox, body):
    play = rehearsed(sandbox)
    assert not run_tests([f"def double(x):\n    {body}"], [play], sandbox)[0].any()


def test_the_test_never_enters_the_programs_process(sandbox):
    play = rehearsed(sandbox, LOOP.replace("0.5", "0.5 or 'secret' == 1"))
    assert "secret" not in repr(play.job("def double(x): return x"))


def test_random_inputs_repeat(sandbox):
    tests = """
import random
def check(candidate):
    for _ in range(9):
        x = random.random()
        assert candidate(x) == 2 * x
"""
    play = rehearsed(sandbox, tests, "def double(x): return 2 * x")
    assert len(play.calls) == 9
    assert run_tests(["def double(x): return x + x"], [play], sandbox)[0].all()


def test_a_test_that_compares_with_the_tested_function_itself_uses_the_programs(sandbox):
    tests = "assert tuple([candidate(2)]) == tuple([double(2)])"
    play = rehearsed(sandbox, tests)
    assert run_tests(["def double(x): return 7"], [play], sandbox)[0].all()


@pytest.mark.parametrize(
    ("tests", "solution"),
    [
        ("assert abs(double(2) - 5) < 0.1", SOLUTION),  # wrong
        ("assert double(object()) is None or True", SOLUTION),  # called with what has no source
        ("x = 1", SOLUTION),  # asserts nothing
        ("assert 1 < 2", SOLUTION),  # calls nothing
        ("assert double(1) >= 0", "def double(x):\n    while True: pass"),
        ("assert double(1) >= 0", "def double("),
        ("assert double(", SOLUTION),
    ],
)
def test_what_cannot_be_rehearsed_is_none(sandbox, tests, solution):
    assert rehearsed(sandbox, tests, solution) is None


def test_setup_is_there_and_stops_are_kept(sandbox):
    play = rehearsed(sandbox, "assert math.isclose(double(1), 2)\nassert double(2) > 3", setup="import math", shown=1)
    assert (play.count, play.shown) == (2, 1)


def test_the_function_that_tests_call():
    assert entry_of("assert set(double([1])) == set([2])", SOLUTION) == "double"
    assert entry_of("assert f(1)", SOLUTION) is None
    assert entry_of("assert (", SOLUTION) is None
