"""`harness check`: targets, exit codes, tables, JSON, vectors."""

from __future__ import annotations

import gzip
import json
import textwrap

import pytest

from harness.cli import main
from harness.conformance import subjects

FILE = '''
from harness import hookimpl, method


@method(paper="2402.03300", neutral={"factor": 1.0})
class Louder:
    """Multiplies every advantage by a constant factor.

    factor: 1 is the base. Edge cases: none.
    """

    factor: float = 2.0

    @hookimpl(wrapper=True)
    def estimate_advantages(self):
        """Times the factor."""
        return (yield) * self.factor


@method
class Silent:
    """Does nothing, in spite of what this says."""

    @hookimpl(wrapper=True)
    def policy_loss(self):
        """What lies below."""
        return (yield)
'''


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(textwrap.dedent(FILE))
    return path


@pytest.fixture
def run(capsys):
    def command(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(["check", *map(str, arguments)])
        seen = capsys.readouterr()
        return ended.value.code, seen.out, seen.err

    return command


def test_a_file_is_checked_method_by_method(run, file):
    code, out, _ = run(file, "--only", "effect", "--only", "padding")
    assert code == 1
    assert "[1/2] pass  louder" in out
    assert "[2/2] FAIL  silent" in out
    assert "1 of 2 methods pass" in out
    assert f"again: harness check {file}" in " ".join(out.split())


def test_a_stack_of_a_file_passes_as_a_table(run, file):
    code, out, _ = run("louder(factor=3)", "--plugin", file, "--only", "reduction", "--only", "effect")
    assert code == 0, out
    assert "factor=1 is the harness's defaults bit for bit" in out
    assert "effect     pass    differs from the harness's defaults in estimate_advantages" in out


def test_json_is_the_report(run):
    code, out, _ = run("conformance-z-score", "--only", "padding", "--json")
    assert code == 0
    data = json.loads(out)
    assert (data["method"], data["passed"]) == ("conformance-z-score", True)
    assert [finding["check"] for finding in data["findings"]] == ["padding"]


@pytest.mark.parametrize("arguments", [("nothing-of-the-kind",), ("conformance-halve", "--only", "speling")])
def test_what_cannot_be_checked_is_a_fault_of_usage(run, arguments):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


TASK = '''
import numpy as np

from harness.tasks.base import Problem, Task


class Echo(Task):
    """Say the word again."""

    name = "echo"
    columns = ("correct",)
    correct_column = "correct"
    reward_weights = {"correct": 1.0}

    def problems(self, split, limit=None):
        words = [f"{split}{i}" for i in range(40)]
        return [Problem(f"echo:{word}", f"{word}=", "echo", word) for word in words][:limit]

    def score_texts(self, problems, texts, truncated, *, sandbox=None):
        return {"correct": np.array([text == p.answer for p, text in zip(problems, texts)], dtype=float)}
'''


def test_a_task_is_checked_by_name(run):
    code, out, _ = run("math")
    assert code == 0, out
    assert out.splitlines()[0] == "math"
    assert "truncation     pass    A text without an end is never correct" in out


def test_a_task_in_a_file_is_checked(run, tmp_path):
    path = tmp_path / "echo.py"
    path.write_text(TASK)
    code, out, _ = run(path)
    assert code == 1
    assert "truncation     FAIL    32 truncated texts count as correct" in out
    assert f"again: harness check {path} --only truncation" in " ".join(out.split())
    assert out.count("FAIL") == 1
    code, out, _ = run(path, "--only", "order", "--json")
    assert (code, json.loads(out)["passed"]) == (0, True)
    code, out, err = run(path, "--only", "padding")
    assert (code, out) == (2, "")
    assert "no check 'padding' of tasks. Known: columns" in err


def test_a_task_that_cannot_be_made_is_one_failure(run, tmp_path):
    path = tmp_path / "echo.py"
    path.write_text(TASK + "\n    def __init__(self, size):\n        self.size = size\n")
    code, out, _ = run(path)
    assert code == 1
    assert out.count("FAIL") == 1
    assert "missing 1 required positional argument: 'size'" in " ".join(out.split())
    assert out.count("not run: see splits") == 5
    path.write_text("from harness.tasks.base import Task\n1 / 0\n")
    code, out, err = run(path)
    assert (code, err) == (2, f"harness: {path} cannot be run: ZeroDivisionError: division by zero\n")


def case(number, expected, **params):
    inputs = {"rewards": [[1.0], [0.0], [0.0], [1.0]], "group": [0, 0, 1, 1]}
    return {
        "id": f"case-{number}", "method": "conformance_z_score", "kind": "advantage", "source": {}, "params": params,
        "inputs": inputs, "expected": {"advantages": expected}, "tolerance": {"rtol": 1e-5, "atol": 1e-6},
    }  # fmt: skip


def test_vectors_are_one_more_line(run, tmp_path):
    right = [0.707, -0.707, -0.707, 0.707]
    path = tmp_path / "vectors.jsonl"
    path.write_text(json.dumps(case(1, right) | {"tolerance": {"rtol": 1e-3}}))
    code, out, _ = run("conformance-z-score", "--only", "padding", "--vectors", path)
    assert code == 0, out
    assert "vectors  pass    1 cases as expected" in out

    packed = tmp_path / "vectors.jsonl.gz"
    packed.write_bytes(gzip.compress("\n".join(map(json.dumps, [case(1, right), case(2, right, eps=1.0)])).encode()))
    code, out, _ = run("conformance-z-score", "--only", "padding", "--vectors", packed)
    assert code == 1
    said = " ".join(out.split())
    assert "vectors FAIL 1 of 1 cases differ: case-1: advantages" in said
    assert "1 not mapped: conformance-z-score has no parameter eps" in said

    path.write_text(json.dumps(case(1, right, eps=1.0)))
    code, out, _ = run("conformance-z-score", "--only", "padding", "--vectors", path)
    assert code == 0, out
    assert "vectors n.a. none of its 1 cases can be compared; 1 not mapped: conformance-z-score" in " ".join(
        out.split()
    )


def test_a_distribution_is_all_of_its_methods():
    found = subjects("policy-harness")
    assert {"grpo", "dapo", "placebo"} <= {subject.name for subject in found}


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_first_party_method_passes(run):
    code, out, _ = run("policy-harness")
    assert code == 0, out
