"""The sandbox: right values out of good programs."""

import pytest

from harness.tasks.sandbox import Job, Outcome, Sandbox, same
from tests.tasks.sandboxed import outcome, program, value


def test_expressions_and_functions_in_one_batch(box):
    jobs = [
        Job("3*x+1", [[1], [-2]], "expression"),
        Job("x*y-z", [[2, 3, 4]], "expression"),
        Job("def f(x):\n    return x // 2 if x > 0 else -x", [[7], [-7]]),
        Job("def f(a, b):\n    return sum(range(a)) + b", [[4, 1], [0, 0]]),
        Job("f = lambda x: x % 3", [[10]]),
        Job("import math\ndef f(x):\n    return math.gcd(x, 12)", [[18]]),
        Job("def g(x):\n    return 2 * x\ndef f(x):\n    return g(x) + 1", [[5]]),
        Job("[x, 2][1]", [[9]], "expression"),
    ]
    expected = [[4, -5], [2], [3, 7], [7, 0], [1], [6], [11], [2]]
    assert [o.values for o in box.run(jobs)] == expected
    assert all(o.error is None and not o.timed_out for o in box.run(jobs))


def test_every_json_scalar_comes_back_as_it_is(namespaces):
    bodies = ["return True", "return 2.5", "return 'é\\n\"'", "return 10**100", "return None", "return -0.0"]
    assert [outcome(namespaces, body).values[0] for body in bodies] == [True, 2.5, 'é\n"', 10**100, None, -0.0]


@pytest.mark.parametrize(
    "text", ["[1]", "(1,)", "{}", "1j", "float('nan')", "float('inf')", "10**9999", "'a'*99999", "int"]
)
def test_what_is_no_small_scalar_is_an_error(namespaces, text):
    result = outcome(namespaces, f"return {text}")
    assert result.values == [None]
    assert result.error


def test_an_input_that_fails_does_not_spoil_the_others(box):
    for source, kind in (("6//x", "expression"), (program("return sum([6])//x"), "function")):
        result = box.run([Job(source, [[3], [0], [2]], kind)])[0]
        assert result == Outcome([2, None, 3], "ZeroDivisionError: integer division or modulo by zero", False) or (
            result.values == [2, None, 3] and result.error.startswith("ZeroDivisionError")
        )


@pytest.mark.parametrize("source", ["", "3*", "x y", "\0", "return 1", "x = 1", "import os", "f(", "'" * 5, "\\"])
def test_text_that_is_no_expression_is_an_error(box, source):
    result = box.run([Job(source, [[1], [2]], "expression")])[0]
    assert result.values == [None, None]
    assert result.error


def test_a_module_without_f_is_an_error(box):
    assert "no function f" in box.run([Job("g = 1", [[1]])])[0].error
    assert "no function f" in box.run([Job("f = 1\nf2 = 2", [[1]])])[0].error


def test_equal_jobs_give_equal_outcomes_in_order(box):
    jobs = [Job(f"x+{i % 3}", [[1]], "expression") for i in range(20)]
    assert [o.values[0] for o in box.run(jobs)] == [1 + i % 3 for i in range(20)]
    assert box.run([]) == []


def test_random_programs_and_set_order_repeat(namespaces):
    body = "import random\nreturn str(random.random()) + ''.join({'a', 'b', 'c', 'd', 'e', 'f'})"
    with Sandbox("namespaces") as other:
        assert value(namespaces, body) == value(other, body) == value(namespaces, body + "\n")


def test_same_compares_value_and_kind():
    assert same(1, 1)
    assert same(7.0, 7)
    assert same("a", "a")
    assert same(True, True)
    assert not same(True, 1)
    assert not same(0, False)
    assert not same(None, None)
    assert not same("1", 1)
    assert not same(10**400, 1.5)
