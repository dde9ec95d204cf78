"""Programs with stdin and stdout, and functions by name."""

import json

import pytest

from harness.tasks.programs import run_tests
from harness.tasks.sandbox import Sandbox, probe
from harness.tasks.streams import cases_of


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(probe().mode, seconds=0.5) as box:
        yield box


def verdicts(sandbox, cases, *programs):
    return [row.tolist() for row in run_tests(programs, [cases] * len(programs), sandbox)]


ECHO = cases_of(json.dumps({"inputs": ["a\nb\n", ["1", "2.50"]], "outputs": ["a\nb\n", ["1", "2.50"]]}), 20)


def test_programs_read_and_write_in_any_usual_way(sandbox):
    programs = [
        "import sys\nsys.stdout.write(sys.stdin.read())",
        "while True:\n    try:\n        print(input(), end='  \\n\\n')\n    except EOFError:\n        break",
        "import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line)\nsys.exit(1)",
        "import sys\nprint(*map(str.strip, sys.stdin.readlines()), sep='\\n')\nquit = 1",
    ]
    assert verdicts(sandbox, ECHO, *programs) == [[True, True]] * 4


def test_runs_share_no_names_and_wrong_ones_fail(sandbox):
    programs = [
        "try:\n    seen\nexcept NameError:\n    seen = 1\n    print('a\\nb')",
        "import sys\nprint(sys.stdin.read())\nraise ValueError",
        "print('a b')",
        "print(",
        "while True: pass",
        "print('a\\nb' * 9000)",
    ]
    assert verdicts(sandbox, ECHO, *programs) == [[True, False]] + [[False, False]] * 5


def test_numbers_with_a_point_compare_within_a_tolerance(sandbox):
    cases = cases_of({"inputs": ["", ""], "outputs": ["0.5", "3"]}, 20)
    assert verdicts(sandbox, cases, "print(.5)", "print(3.0)", "print(0.50000001)") == [
        [True, False],
        [False, False],
        [True, False],
    ]


def test_functions_by_name_and_in_a_class(sandbox):
    cases = cases_of({"fn_name": "f", "inputs": [[1, 2], [[3], 4]], "outputs": [[3], [[3, 4]]]}, 20)
    programs = [
        "def f(a, b): return a + b if isinstance(a, int) else (*a, b)",
        "class Solution:\n    def f(self, a, b):\n        return [3] if a == 1 else [3, 4]",
        "def f(a, b): return 3.0",
        "def f(a): return 3",
        "f = 3",
    ]
    assert verdicts(sandbox, cases, *programs) == [[True, True], [True, True], [True, False], [False] * 2, [False] * 2]


@pytest.mark.parametrize(
    "value",
    [
        "", None, {}, {"inputs": [], "outputs": []}, {"inputs": ["1"], "outputs": ["x" * 20_000]}, {"inputs": ["1"]},
        "{no JSON", "[" * 100_000, "3", {"inputs": 5, "outputs": [5]}, {"inputs": ["1", "2"], "outputs": ["", " \n"]},
        {"fn_name": "f", "inputs": [5, "ab"], "outputs": [5, "ab"]},
    ],
)  # fmt: skip
def test_no_usable_test(value):
    assert cases_of(value, 20) is None


def test_a_call_that_cannot_be_written_down_is_left_out():
    long = "9" * 5000
    cases = cases_of(f'{{"fn_name": "f", "inputs": [[{long}], [1], [2]], "outputs": [1, {long}, NaN]}}', 20)
    assert cases is None
    cases = cases_of(f'{{"fn_name": "f", "inputs": [[{long}], [{long[:4000]}]], "outputs": [1, 2]}}', 20)
    assert [check.expected for check in cases.checks] == [2]


def test_the_first_tests_only():
    assert cases_of({"inputs": list("abc"), "outputs": list("abc")}, 2).count == 2


LATE_WRITER = """
import atexit, io, sys
real, sys.stdout = sys.stdout, io.StringIO()
print(open(0).read())
@atexit.register
def write():
    real.write(sys.stdout.getvalue())
"""


@pytest.mark.parametrize(
    "program",
    [
        "print(open(0).read(), end='')",
        "import os\nos.write(1, os.read(0, 1 << 20))",
        "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())",
        "import sys, os\nassert os.fstat(sys.stdin.fileno()).st_size\nprint(*sys.stdin, sep='')",
        "import sys, io\nsys.stdin = io.StringIO(sys.stdin.buffer.read().decode())\nprint(input())\nprint(*sys.stdin)",
        "import fileinput\nfor line in fileinput.input(files=['-']): print(line)",
        "import sys\nfor line in iter(sys.stdin.readline, ''): print(line)",
        "import sys\nprint(sys.__stdin__.read())",
        LATE_WRITER,
        "with open(1, 'w') as out: out.write(open(0).read())",
    ],
)
def test_every_usual_way_to_reach_the_streams_works_in_every_run(sandbox, program):
    assert verdicts(sandbox, ECHO, program) == [[True, True]]


def test_a_text_and_the_number_of_tests_may_be_larger_than_a_pipe_or_the_files_a_program_may_open(sandbox):
    many = " ".join(["7"] * 300_000)
    cases = cases_of({"inputs": [many] * 40, "outputs": ["2100000 0"] * 40}, 40)
    program = "import os, difflib\ntext = os.read(0, 1) + open(0, 'rb').read()\nprint(text.count(b'7') * 7, 0)"
    with Sandbox(sandbox.mode, seconds=20) as box:
        assert verdicts(box, cases, program) == [[True] * 40]


def test_output_that_fills_the_pipe_is_an_error_and_not_a_hang(sandbox):
    cases = cases_of({"inputs": ["a", "b"], "outputs": ["x", "b"]}, 2)
    program = "text = input()\nprint('x' * 1_000_000 if text == 'a' else text)"
    assert verdicts(sandbox, cases, program) == [[False, True]]
