"""Stopping and resuming replays to the same bits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from harness.training.config import TrialConfig
from harness.training.trial import run_trial

STATEFUL = """
    class Head(torch.nn.Linear):
        def forward(self, batch, hidden):
            return super().forward(hidden)[..., 0]


    @method(base="grpo(beta=0)")
    class Moving:
        @hookimpl
        def start(self, run):
            self.run = run
            self.mean = run.rollout(run.pool.keys[:2], 2).reward.mean()
            self.seen = {}
            self.rows = []

        @hookimpl
        def build(self, policy):
            return {"critic": Trained(Head(policy.model.config.hidden_size, 1), lr=1e-2)}

        @hookimpl
        def estimate_advantages(self, batch, state):
            for record in batch.prompts:
                self.seen[record.key] = self.seen.get(record.key, 0) + 1
            self.mean = 0.9 * self.mean + 0.1 * batch.reward.mean()
            return batch.reward - self.mean + 0.01 * torch.rand(len(batch), generator=state.generator)

        @hookimpl
        def regularize(self, batch, output):
            return (output.modules["critic"] - batch.reward[:, None]).square()

        @hookimpl
        def end_step(self, batch):
            self.rows = [*self.rows, batch[:1]][-2:]
            return {"mean": self.mean, "seen": len(self.seen), "kept": sum(map(len, self.rows))}
"""


def stopper(every):
    """Asks to stop after every `every`-th step."""
    count = iter(range(1, 10**6))
    return lambda: next(count) % every == 0


def evaluator(policy, tasks, settings, *, seed, sandbox):
    del tasks, settings, seed, sandbox
    score = float(next(policy.model.parameters()).detach().abs().sum())
    return SimpleNamespace(score=score, tasks={"math": {"accuracy": score}}, items=[])


def run_in_pieces(settings, directory, every=1, *, between=lambda: None):
    """Every call stops after `every` steps; returns (result, calls)."""
    for calls in range(1, 100):
        result = run_trial(settings, directory, should_stop=stopper(every), evaluate=evaluator)
        if result.status != "interrupted":
            return result, calls
        between()
    raise AssertionError("never done")


def equal(a, b):
    for name in ("metrics.jsonl", "evaluations.jsonl"):
        assert (a / name).read_bytes() == (b / name).read_bytes(), name
    for name in ("result.json", "ledger.json"):
        one, two = (json.loads((d / name).read_text()) for d in (a, b))
        if name == "result.json":
            one.pop("seconds"), two.pop("seconds")
        else:
            one["total"].pop("seconds"), two["total"].pop("seconds")
        assert one == two, name
    newest = [max((d / "checkpoints").glob("step-*")) / "tensors.safetensors" for d in (a, b)]
    one, two = map(load_file, newest)
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize(
    ("method", "settings"),
    [("moving", {"lag": 2}), ("ppo", {"minibatches": 1}), ("ar3po", {"compute": 4000})],
)
def test_a_trial_in_pieces_equals_an_uninterrupted_one(config, plugin, tmp_path, method, settings):
    settings = config(method, plugins=plugin(STATEFUL) if method == "moving" else (), **settings)
    whole = run_trial(settings, tmp_path / "whole", evaluate=evaluator)
    assert (whole.status, whole.error) == ("done", None)
    result, calls = run_in_pieces(settings, tmp_path / "pieces")
    assert calls >= 3
    assert result.score == whole.score
    equal(tmp_path / "whole", tmp_path / "pieces")


def test_lines_after_the_checkpoint_are_cut_and_a_broken_checkpoint_is_passed_over(config, tmp_path):
    settings, directory = config(), tmp_path / "t"
    run_trial(settings, tmp_path / "whole", evaluate=evaluator)
    run_trial(settings, directory, should_stop=stopper(2), evaluate=evaluator)
    with (directory / "metrics.jsonl").open("a") as file:
        file.write('{"step": 2, "torn')
    run_trial(settings, directory, should_stop=stopper(1), evaluate=evaluator)
    kept = sorted((directory / "checkpoints").glob("step-*"))
    assert [path.name for path in kept] == ["step-000002", "step-000003"]
    tensors = kept[-1] / "tensors.safetensors"
    damaged = bytearray(tensors.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    tensors.write_bytes(bytes(damaged))
    assert run_trial(settings, directory, evaluate=evaluator).status == "done"
    equal(tmp_path / "whole", directory)


def test_without_any_whole_checkpoint_the_trial_begins_anew(config, tmp_path):
    settings, directory = config(), tmp_path / "t"
    run_trial(settings, tmp_path / "whole", evaluate=evaluator)
    run_trial(settings, directory, should_stop=stopper(1), evaluate=evaluator)
    for path in (directory / "checkpoints").glob("step-*"):
        (path / "state.json").write_text("{}")
    assert run_trial(settings, directory, evaluate=evaluator).status == "done"
    equal(tmp_path / "whole", directory)


def test_a_checkpoint_is_written_by_the_clock(config, tmp_path):
    run_trial(config(checkpoint_seconds=0.0), tmp_path / "t")
    names = [path.name for path in sorted((tmp_path / "t" / "checkpoints").iterdir())]
    assert len(names) == 2
    assert all(name.startswith("step-") for name in names)


KILLED = """
import sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from harness.training.config import TrialConfig
from harness.training.trial import run_trial
settings = TrialConfig.model_validate_json(Path(sys.argv[1]).read_text())
print(run_trial(settings, Path(sys.argv[2])).status)
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kill_minus_nine_and_resume(config, tmp_path):
    settings = config("grpo(beta=0)", compute=20000, checkpoint_seconds=0.0)
    settings = TrialConfig.model_validate_json(settings.model_dump_json(exclude_none=True))
    (tmp_path / "settings.json").write_text(settings.model_dump_json(exclude_none=True))
    command = [sys.executable, "-c", KILLED, str(tmp_path / "settings.json")]
    subprocess.run([*command, str(tmp_path / "whole")], check=True, capture_output=True)
    kills, directory = 0, tmp_path / "killed"
    while True:
        process = subprocess.Popen([*command, str(directory)], stdout=subprocess.PIPE, text=True)
        start = time.monotonic()
        metrics = directory / "metrics.jsonl"
        size = metrics.stat().st_size if metrics.exists() else 0
        while process.poll() is None and kills < 3:
            grown = metrics.exists() and metrics.stat().st_size > size
            if grown and time.monotonic() - start > 0.3 * kills:
                os.kill(process.pid, signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.003)
        out, _ = process.communicate()
        if process.returncode == 0:
            assert out.strip().endswith("done")
            break
    assert kills == 3
    for name in ("metrics.jsonl",):
        assert (tmp_path / "whole" / name).read_bytes() == (directory / name).read_bytes()
    tensors = [max((d / "checkpoints").glob("step-*")) / "tensors.safetensors" for d in (tmp_path / "whole", directory)]
    one, two = map(load_file, tensors)
    assert all(torch.equal(one[name], two[name]) for name in one)
