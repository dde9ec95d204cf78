import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from harness.files import read_json, write_json
from harness.suites import ray_executor
from harness.suites.expand import trials
from harness.suites.run import clean, clean_targets, execute, plan, side_by_side
from harness.suites.status import status_of

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(tmp_path, suite):
    """plan and execute with a stand-in runner; returns (report, what was printed)."""

    def run(runner="quick", shard=(1, 1), **changes):
        console = Console(file=io.StringIO(), width=60)
        todo = plan(suite(**changes), out=tmp_path, shard=shard, canonical=str)
        report = execute(todo, workers=2, console=console, runner=f"tests.suites.fake_trials:{runner}")
        return report, console.file.getvalue()

    return run


def test_running_again_runs_only_what_is_missing(run):
    report, text = run(seeds=1)
    assert (len(report.outcomes), report.skipped, report.exit_code) == (2, 0, 0)
    assert text.startswith("2 of 2 trials to run\n")  # no bars outside a terminal
    assert text.count("done") == 2
    report, _ = run(seeds=2)
    assert (len(report.outcomes), report.skipped) == (2, 2)
    report, _ = run(seeds=2)
    assert (len(report.outcomes), report.skipped) == (0, 4)


def test_a_failed_trial_gives_exit_code_1_and_is_tried_again(run):
    report, text = run("by_name", methods=["raises"], seeds=1)
    assert report.exit_code == 1
    assert "ValueError: no luck" in text
    report, _ = run("quick", methods=["raises"], seeds=1)
    assert [outcome.status for outcome in report.outcomes] == ["done"]
    assert report.exit_code == 0


def test_timed_out_and_diverged_trials_are_kept(run, tmp_path):
    run(seeds=1)
    file = tmp_path / "small" / "dr-grpo" / "seed-0" / "result.json"
    for status in ("diverged", "timeout"):
        write_json(file, {"status": status})
        report, _ = run(seeds=1)
        assert report.outcomes == []
        assert report.exit_code == 1
        assert [state.status for state in report.kept] == [status]
    report, _ = run(seeds=1, limits__seconds=7200)  # a longer limit is a reason to go on
    assert [outcome.status for outcome in report.outcomes] == ["done"]


def test_shards_divide_the_trials(run, tmp_path):
    report, _ = run(shard=(1, 3))
    assert len(report.outcomes) == 2
    for part in (2, 3):
        run(shard=(part, 3))
    assert len(list((tmp_path / "small").glob("*/seed-*/result.json"))) == 4


def test_clean_removes_what_is_asked(run, tmp_path, suite):
    run()
    store = plan(suite(), out=tmp_path, canonical=str).store
    (target,) = clean_targets(store, "dr-grpo")
    clean([target])
    assert not target.exists()
    clean(clean_targets(store))
    assert not store.path.exists()


def start(tmp_path, write, updates):
    file = write(
        "small.yaml", f"name: small\nbudget: {{updates: {updates}}}\nmethods: [dr-grpo]\nseeds: 2\nhonesty: []\n"
    )
    command = [sys.executable, "-m", "tests.suites.drive", str(file), str(tmp_path / "out"), "until_stopped"]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)


def wait_for_steps(tmp_path, process, least=3):
    until = time.monotonic() + 90
    while time.monotonic() < until and process.poll() is None:
        files = list(tmp_path.glob("out/small/*/seed-0/steps"))
        if len(files) == 2 and all(file.read_text() and int(file.read_text()) >= least for file in files):
            return [file.parent for file in files]
        time.sleep(0.05)
    raise AssertionError("no progress")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_ends_cleanly_and_the_same_command_resumes(tmp_path, write, number):
    process = start(tmp_path, write, 100_000)
    directories = wait_for_steps(tmp_path, process)
    os.killpg(process.pid, number)  # as a terminal's Ctrl-C does: to the whole group
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out.splitlines()[-1] == "interrupted interrupted 0"
    for directory in directories:
        assert read_json(directory / "status.json")["status"] == "interrupted"
    counted = [int((directory / "steps").read_text()) for directory in directories]
    again = start(tmp_path, write, 100_000)
    wait_for_steps(tmp_path, again, max(counted) + 1)
    os.kill(again.pid, number)
    again.communicate(timeout=60)


def test_the_second_signal_ends_at_once(tmp_path, write):
    file = write(
        "hang.yaml", "name: small\nbudget: {updates: 5}\nmethods: [hangs]\nbaseline: hangs\nseeds: 1\nhonesty: []\n"
    )
    command = [sys.executable, "-m", "tests.suites.drive", str(file), str(tmp_path / "out"), "by_name"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    status = tmp_path / "out/small/hangs/seed-0/status.json"
    while not read_json(status):
        time.sleep(0.05)
    pid = read_json(status)["pid"]
    process.send_signal(signal.SIGINT)
    time.sleep(0.7)
    assert process.poll() is None  # it waits for the step
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out.splitlines()[-1] == "interrupted 0"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_workers_stop_when_their_parent_is_killed(tmp_path, write):
    process = start(tmp_path, write, 100_000)
    directories = wait_for_steps(tmp_path, process)
    process.kill()
    process.communicate()
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if all(read_json(directory / "result.json").get("status") == "interrupted" for directory in directories):
            break
        time.sleep(0.1)
    else:
        raise AssertionError("orphans go on")


def test_trials_that_would_be_in_each_others_way_run_one_at_a_time(suite, monkeypatch):
    monkeypatch.setattr("harness.runtime.cores", lambda: 8)
    assert side_by_side(suite()) == 8
    assert side_by_side(suite(threads=2, resources__ranks=2)) == 2
    assert side_by_side(suite(policy__device="cuda")) == 1
    served = suite(sampler__engine="vllm", sampler__vllm__server="http://127.0.0.1:8000")
    assert side_by_side(served) == 1
    counts = []
    run = SimpleNamespace(outcomes=list)
    monkeypatch.setattr(ray_executor, "Run", lambda *_, workers, **__: counts.append(workers) or run)
    monkeypatch.setattr(ray_executor.ray_cluster, "check_room", lambda *_: None)
    monkeypatch.setattr(ray_executor.ray_cluster, "places", lambda *_: 7)
    for one in (suite(), served):
        jobs = [SimpleNamespace(config=trials(one, str)[0])]
        ray_executor.RayExecutor(None).run_jobs(jobs, workers=None, observer=None)
    assert counts == [7, 1]


def test_states_are_read_from_files(run, tmp_path, suite):
    todo = plan(suite(seeds=1), out=tmp_path, canonical=str)
    states = [status_of(config, todo.store) for config in todo.trials]
    assert [state.status for state in states] == ["waiting", "waiting"]
    directory = states[0].directory
    directory.mkdir(parents=True)
    news = {
        "status": "running",
        "pid": os.getpid(),
        "host": os.uname().nodename,
        "progress": 0.5,
        "updated": time.time(),
    }
    write_json(directory / "status.json", {**news, "started": time.time() - 10})
    (directory / "evaluations.jsonl").write_text('{"score": 0.25}\n{"score": 0.5}\n{"sco')
    state = status_of(todo.trials[0], todo.store)
    assert (state.status, state.progress, state.score) == ("running", 0.5, 0.5)
    for change in ({"pid": 2**22 - 1}, {"host": "elsewhere", "updated": 0}):
        write_json(directory / "status.json", {**news, **change})
        assert status_of(todo.trials[0], todo.store).status == "interrupted"
    write_json(directory / "status.json", {**news, "host": "elsewhere"})
    assert status_of(todo.trials[0], todo.store).status == "running"


def test_evaluation_gets_the_system_prompt_that_training_gets(suite, monkeypatch, tmp_path):
    from harness.suites import trial

    asked = {}
    monkeypatch.setattr("harness.evaluation.evaluate", lambda *_, **options: asked.update(options))
    monkeypatch.setattr(
        "harness.training.trial.run_trial", lambda *_, evaluate, **__: evaluate(None, [], None, seed=0, sandbox=None)
    )
    config = trials(suite(policy__system="Answer."), lambda text: text)[0]
    trial.run(config, tmp_path, should_stop=lambda: False, heartbeat=lambda _: None)
    assert asked["system"] == "Answer."
