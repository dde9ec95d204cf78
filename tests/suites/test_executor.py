import time

import pytest

from harness.files import read_json
from harness.suites import executor
from harness.suites.executor import run_jobs
from harness.suites.expand import trials
from harness.suites.store import RunDirectory
from harness.suites.worker import Job, silence_limit
from harness.training.config import Limits


class Watcher:
    """Records what the executor tells."""

    def __init__(self):
        self.events = []

    def started(self, job):
        self.events.append(("started", job.label))

    def beat(self, job, news):
        self.events.append(("beat", job.label, news))

    def ended(self, outcome):
        self.events.append(("ended", outcome.job.label, outcome.status))


@pytest.fixture
def run(tmp_path, suite):
    """Run a small suite's jobs with a stand-in for training."""

    def run(runner, workers=2, **changes):
        store = RunDirectory(tmp_path / "runs")
        limits = {key: changes.pop(key) for key in ("deadline",) if key in changes}
        made = suite(**changes)
        jobs = [Job(c, store.trial(c), f"tests.suites.fake_trials:{runner}") for c in trials(made, str)]
        return run_jobs(jobs, workers=workers, observer=Watcher(), **limits)

    return run


def test_every_trial_runs_in_its_own_directory_and_reports(run):
    outcomes = run("quick")
    assert sorted((o.job.label, o.status, o.score) for o in outcomes) == [
        ("dr-grpo seed 0", "done", 0.0), ("dr-grpo seed 1", "done", 0.1),
        ("grpo(beta=0) seed 0", "done", 0.0), ("grpo(beta=0) seed 1", "done", 0.1),
    ]  # fmt: skip
    for outcome in outcomes:
        assert "hello from a trial" in (outcome.job.directory / "log.txt").read_text()
        status = read_json(outcome.job.directory / "status.json")
        assert (status["status"], status["progress"]) == ("done", 0.0)  # one beat a second reaches the file


def test_a_failing_trial_is_marked_and_the_others_go_on(run, monkeypatch):
    monkeypatch.setattr(executor, "GRACE_SECONDS", 0.0)
    outcomes = run(
        "by_name", methods=["raises", "crash", "hungry", "hangs"], seeds=1, limits__seconds=6, limits__memory="300MiB"
    )
    found = {outcome.job.config.method: (outcome.status, outcome.error) for outcome in outcomes}
    assert found["grpo(beta=0)"] == ("done", None)
    assert found["raises"] == ("failed", "ValueError: no luck")
    assert found["crash"][0] == "failed"
    assert "killed by SIGSEGV" in found["crash"][1]
    assert found["hungry"][0] == "failed"
    assert "limits.memory is 300MiB" in found["hungry"][1]
    assert found["hangs"] == ("timeout", "over limits.seconds = 6")
    for outcome in outcomes:
        result = read_json(outcome.job.directory / "result.json")
        assert result["status"] == outcome.status
        assert read_json(outcome.job.directory / "config.json")["config"]["method"] == outcome.job.config.method


def test_a_silent_worker_is_killed(run, monkeypatch):
    monkeypatch.setattr(executor, "silence_limit", lambda _: 1.0)
    (outcome,) = run("by_name", methods=["hangs"], baseline="hangs", seeds=1)
    assert (outcome.status, outcome.error) == ("timeout", "silent for 1 s")


def test_silence_is_judged_by_the_limit():
    assert silence_limit(Limits(seconds=100)) == 300
    assert silence_limit(Limits(seconds=7200)) == 1800


def test_at_the_deadline_running_trials_stop_cleanly_and_the_rest_never_begin(run):
    outcomes = run("until_stopped", workers=1, budget__updates=100_000, deadline=time.monotonic() + 1.5)
    assert [outcome.status for outcome in outcomes] == ["interrupted"]
    again = run("until_stopped", workers=1, budget__updates=5, seeds=1)  # the counted steps are kept
    assert [outcome.status for outcome in again] == ["done", "done"]
    assert int((again[0].job.directory / "steps").read_text()) > 5


def test_the_observer_hears_everything(tmp_path, suite):
    watcher = Watcher()
    config = trials(suite(seeds=1), str)[0]
    run_jobs([Job(config, tmp_path / "t", "tests.suites.fake_trials:quick")], workers=1, observer=watcher)
    label = "grpo(beta=0) seed 0"
    assert watcher.events[0] == ("started", label)
    assert ("beat", label, {"step": 2, "progress": 2 / 3}) in watcher.events
    assert watcher.events[-1] == ("ended", label, "done")


def test_no_jobs():
    assert run_jobs([], workers=2, observer=Watcher()) == []
