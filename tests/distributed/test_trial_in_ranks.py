"""Whole trials in several processes, as `resources.ranks` has them run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.suites import ranks
from harness.suites.trial import run
from harness.training.config import (
    BudgetConfig,
    EvaluationConfig,
    LearnerConfig,
    PolicyConfig,
    Resources,
    SamplingConfig,
    TaskShare,
    TrialConfig,
)  # fmt: skip
from harness.training.trial import TrialResult

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PLUGIN = '''
import os, signal
from harness import hookimpl, method


@method(base="grpo(beta=0)")
class Faulty:
    """In step 2, the rank that the environment names does what it names."""

    @hookimpl
    def estimate_advantages(self, batch, state):
        rank, _, deed = os.environ.get("FAULT", "").partition(":")
        if state.step == 2 and os.environ.get("RANK") == rank:
            if deed == "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            raise ValueError("no luck")
        return batch.groups.center(batch.reward)
'''


def settings(count, method="grpo(beta=0)", updates=5, tasks=("math",), *, sharded=False, **more):
    return TrialConfig(
        suite="ranks", method=method, seed=1, policy=PolicyConfig(dtype="float64"),
        tasks=tuple(TaskShare(task=name) for name in tasks),
        sampling=SamplingConfig(prompts=4, group_size=4, max_tokens=16), learner=LearnerConfig(micro_batch=8),
        evaluation=EvaluationConfig(problems=8, samples=1), budget=BudgetConfig(updates=updates),
        resources=Resources(ranks=count, sharded=sharded), sandbox="limits", **more,
    )  # fmt: skip


def train(config, directory, **options):
    directory.mkdir(exist_ok=True)
    beats = []
    found = run(config, directory, **{"should_stop": lambda: False, "heartbeat": beats.append, **options})
    assert isinstance(found, TrialResult)
    return found


def lines(directory, name="metrics.jsonl"):
    file = directory / name
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def close(one: Path, other: Path, rel=1e-7):
    assert len(lines(one)) == len(lines(other))
    for a, b in zip(lines(one), lines(other), strict=True):
        assert a == pytest.approx(b, rel=rel, abs=rel / 100)
    for a, b in zip(lines(one, "evaluations.jsonl"), lines(other, "evaluations.jsonl"), strict=True):
        assert a["score"] == b["score"]
        assert a["tasks"] == b["tasks"]


def test_two_ranks_train_as_one_process_does_and_any_number_may_go_on(tmp_path):
    """Two tasks, one of them of programs that the first rank's sandbox runs."""
    both = ("math", "code")
    alone = train(settings(1, tasks=both), tmp_path / "alone")
    together = train(settings(2, tasks=both), tmp_path / "together")
    assert (together.status, together.error) == ("done", None)
    assert (together.score, together.steps, together.spent) == (alone.score, alone.steps, alone.spent)
    close(tmp_path / "together", tmp_path / "alone")
    mixed = tmp_path / "mixed"
    stopped = train(settings(2, tasks=both), mixed, should_stop=lambda: len(lines(mixed)) >= 2)
    assert stopped.status == "interrupted"
    assert 2 <= stopped.steps < 5
    stopped = train(settings(1, tasks=both), mixed, should_stop=lambda: len(lines(mixed)) >= 4)
    assert stopped.status in {"interrupted", "done"}
    assert train(settings(3, tasks=both), mixed).status == "done"
    close(mixed, tmp_path / "alone")


def test_a_checkpoint_of_divided_weights_is_read_by_one_process(tmp_path):
    train(settings(1), tmp_path / "alone")
    divided = tmp_path / "divided"
    stopped = train(settings(2, sharded=True), divided, should_stop=lambda: len(lines(divided)) >= 2)
    assert (stopped.status, stopped.error) == ("interrupted", None)
    again = train(settings(2, sharded=True), divided, should_stop=lambda: len(lines(divided)) >= 3)
    assert again.error is None
    assert train(settings(1), divided).status == "done"
    close(divided, tmp_path / "alone", rel=1e-4)  # transformers' own network computes norms in float32


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("1:dies", "rank 1 of 2 died: killed by SIGKILL; see log.txt"),
        ("1:raises", "rank 1 of 2: "),
        ("0:dies", "rank 0 of 2 died"),
    ],
)
def test_a_rank_that_dies_ends_the_trial_with_one_line(tmp_path, monkeypatch, fault, error):
    file = tmp_path / "faulty.py"
    file.write_text(PLUGIN)
    monkeypatch.setenv("FAULT", fault)
    monkeypatch.setattr(ranks, "PATIENCE", 5.0)
    found = train(settings(2, "faulty", plugins=(str(file),)), tmp_path / "trial")
    assert found.status == "failed"
    assert found.error.startswith(error)
    assert "\n" not in found.error
    assert json.loads((tmp_path / "trial" / "result.json").read_text())["error"] == found.error
    if fault == "1:raises":
        assert "no luck" in found.error
