"""Tasks beside those that are trained on: measured with every evaluation, and no part of the score."""

import json

import pytest

from harness.errors import UsageError
from harness.evaluation import evaluate
from harness.evaluation.others import check_others, run_programs, split_names
from harness.suites.trial import run
from harness.training.config import EvaluationConfig, TrialConfig
from harness.training.result import trial_key
from harness.training.setup import open_sandbox

CONFIG = {"problems": 3, "samples": 2}


@pytest.fixture
def sums(tmp_path):
    rows = [{"question": f"{i}+1=", "answer": str(i + 1)} for i in range(5)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "sums.yaml").write_text("name: sums\nfiles: {test: rows.jsonl}\nmax_tokens: 7\n")
    return str(tmp_path / "sums.yaml")


def test_they_are_measured_and_do_not_count(embedded, sums):
    plain = evaluate(embedded, ["math"], EvaluationConfig(**CONFIG), seed=0)
    report = evaluate(embedded, ["math"], EvaluationConfig(**CONFIG, tasks=(sums,), max_tokens=40), seed=0)
    assert (report.score, report.tasks) == (plain.score, plain.tasks)
    assert plain.others == ()
    found = {(row["task"], row["metric"]): row for row in report.others}
    assert {metric for _, metric in found} == {"accuracy", "pass@1", "pass@2", "pass@1 strict", "length", "truncated"}
    assert found["sums", "accuracy"]["problems"] == 3
    assert found["sums", "length"]["value"] <= 7, "the length is the task's own, not that of training"
    short = EvaluationConfig(**CONFIG, tasks=(sums,), tasks_max_tokens=1)
    row = next(r for r in evaluate(embedded, ["math"], short, seed=0).others if r["metric"] == "length")
    assert row["value"] == 1
    assert report.summary()["others"] == [dict(row) for row in report.others]
    assert "others" not in plain.summary()


def test_names_are_told_apart_and_checked_before_anything_runs(sums, monkeypatch):
    assert split_names(["math", sums, "gsm8k"]) == (["math", sums], ["gsm8k"])
    check_others(["math", "humaneval", sums])
    with pytest.raises(UsageError, match="no task file"):
        check_others([sums.replace("sums", "suns")])
    asked = []
    monkeypatch.setattr("harness.evaluation.others.check_names", lambda names, known: asked.append((names, known)))
    check_others(["math", "gsm8k"])
    assert asked[0][0] == ["gsm8k"]
    assert "word-problems" in asked[0][1]


def test_their_programs_run_as_the_suite_says(sums):
    assert run_programs(["math", "mbpp"])
    assert run_programs(["code"])
    assert not run_programs(["math", sums, "gsm8k"])
    settings = {"suite": "a", "method": "grpo", "budget": {"rollouts": 1}, "sandbox": "limits"}
    settings["tasks"] = [{"task": "word-problems"}]
    for tasks, mode in {("humaneval", sums): "limits", (sums,): None, (): None}.items():
        config = TrialConfig(**settings, evaluation={"tasks": tasks})
        with open_sandbox(config, programs=run_programs(tasks)) as (_, sandbox):
            assert getattr(sandbox, "mode", None) == mode


def test_a_worker_says_that_programs_are_to_run(sums, tmp_path, monkeypatch):
    from harness.suites.trial import train

    asked = []
    monkeypatch.setattr("harness.training.trial.run_trial", lambda *_, **options: asked.append(options["programs"]))
    settings = {"suite": "a", "method": "grpo", "budget": {"rollouts": 1}}
    for tasks in (("humaneval",), (sums,), ()):
        train(TrialConfig(**settings, evaluation={"tasks": tasks}), tmp_path)
    assert asked == [True, False, False]


def test_without_any_a_trial_keeps_its_key():
    def key(**settings):
        config = TrialConfig(suite="a", method="grpo", budget={"rollouts": 1}, evaluation=EvaluationConfig(**settings))
        return trial_key(config, {}, {})

    assert key() == key(shots=3) == key(tasks_max_tokens=9)
    assert len({key(), key(tasks=("gsm8k",)), key(tasks=("gsm8k",), shots=3), key(samples=2)}) == 4


def test_a_trial_records_them_with_every_evaluation(sums, tmp_path):
    config = TrialConfig(
        suite="a", method="grpo(beta=0)", budget={"rollouts": 16}, sampling={"prompts": 2, "group_size": 4},
        evaluation=EvaluationConfig(problems=2, samples=1, every=1.0, tasks=(sums,)),
    )  # fmt: skip
    result = run(config, tmp_path / "trial", should_stop=lambda: False, heartbeat=lambda _: None)
    assert result.status == "done", result.error
    records = [json.loads(line) for line in (tmp_path / "trial" / "evaluations.jsonl").read_text().splitlines()]
    assert len(records) == 2
    for record in records:
        assert set(record["tasks"]) == {"math"}
        assert {row["task"] for row in record["others"]} == {"sums"}
        assert all(row["value"] is not None for row in record["others"])
