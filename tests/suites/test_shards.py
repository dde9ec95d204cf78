"""The batch script of docs/scale.md: parts in processes of their own, a signal, a requeue, the merge."""

import csv
import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

DOC = Path(__file__).parents[2] / "docs" / "scale.md"
SUITE = """
name: parts
budget: {updates: 4}
methods: [dr-grpo, rloo]
honesty: []
seeds: 1
sampling: {prompts: 4, group_size: 4, max_tokens: 12}
evaluation: {problems: 8, samples: 1}
"""


@pytest.fixture
def batch(tmp_path):
    """Starts the script as a task of an array; `scontrol` and `harness` are programs of the test's."""
    script = re.search(r"```bash\n(#!/bin/bash\n.*?)```", DOC.read_text(), re.DOTALL)
    assert script
    (tmp_path / "array.sh").write_text(script[1])
    (tmp_path / "parts.yaml").write_text(SUITE)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, command in {
        "harness": f'exec {sys.executable} -m harness "$@"',
        "scontrol": f'echo "$@" >> {tmp_path / "requeued"}',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{command}\n")
        (programs / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "OUT": str(tmp_path / "runs")}

    def start(task, count=3, suite="parts.yaml"):
        slurm = {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_COUNT": str(count), "SLURM_ARRAY_JOB_ID": "7"}
        command = ["bash", "array.sh", suite]
        return subprocess.Popen(command, cwd=tmp_path, env={**environment, **slurm}, start_new_session=True)

    start.environment = environment
    return start


def harness(directory, environment, *arguments):
    command = ["harness", *arguments]
    found = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_three_parts_and_the_merge_are_one_run(batch, tmp_path):
    tasks = [batch(number) for number in (1, 2, 3)]
    assert [task.wait() for task in tasks] == [0, 0, 0]
    harness(tmp_path, batch.environment, "leaderboard", "parts", "--out", "runs", "--rebuild")
    assert (tmp_path / "runs" / "mlflow.db").is_file()
    harness(tmp_path, batch.environment, "run", "parts.yaml", "--out", "whole", "--no-tracking")
    files = sorted((tmp_path / "whole").glob("parts/*/seed-*/metrics.jsonl"))
    assert len(files) == 3
    for file in files:
        for name in ("metrics.jsonl", "evaluations.jsonl", "items.jsonl"):
            other = tmp_path / "runs" / file.relative_to(tmp_path / "whole").with_name(name)
            assert other.read_bytes() == file.with_name(name).read_bytes()
    tables = [
        harness(tmp_path, batch.environment, "leaderboard", "parts", "--out", out, "--format", "csv")
        for out in ("runs", "whole")
    ]
    rows = [[(row["method"], row["score"], row["steps"]) for row in csv.DictReader(io.StringIO(t))] for t in tables]
    assert rows[0] == rows[1]
    assert len(rows[0]) >= 3


def test_a_signal_before_the_time_limit_requeues_the_task_and_it_goes_on(batch, tmp_path):
    (tmp_path / "long.yaml").write_text(SUITE.replace("updates: 4", "updates: 400").replace("[dr-grpo, rloo]", "[]"))
    task = batch(1, count=1, suite="long.yaml")
    metrics = lambda: next((tmp_path / "runs").glob("parts/*/seed-0/metrics.jsonl"), None)  # noqa: E731
    until = time.monotonic() + 300
    while metrics() is None or len(metrics().read_text().splitlines()) < 2:
        assert task.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)
    task.send_signal(signal.SIGTERM)  # to the shell alone, as --signal=B: does
    assert task.wait() == 130
    assert (tmp_path / "requeued").read_text() == "requeue 7_1\n"
    steps = len(metrics().read_text().splitlines())
    again = batch(1, count=1, suite="long.yaml")
    while len(metrics().read_text().splitlines()) <= steps:
        assert again.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)
    again.send_signal(signal.SIGTERM)
    assert again.wait() == 130
