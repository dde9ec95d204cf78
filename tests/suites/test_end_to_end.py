"""`harness run` with real training, from an empty directory, as a user meets it."""

import os
import subprocess
import sys

import pytest

PLUGIN = '''
from harness import hookimpl, method


@method(base="grpo(beta=0)")
class Faulty:
    """Fails in its second step."""

    @hookimpl
    def estimate_advantages(self, batch, state):
        if state.step == 1:
            raise ValueError("no luck")
        return batch.groups.center(batch.reward)
'''
SMALL = [
    "run", "quickstart", "--budget", "40k", "--seeds", "1",
    "--set", "evaluation.problems=8", "--set", "evaluation.samples=1", "--set", "sampling.prompts=8",
    "--sandbox", "limits",
]  # fmt: skip


def harness(directory, *arguments):
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "harness", *arguments]
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_suite_from_the_first_command_to_mlflow(tmp_path):
    (tmp_path / "faulty.py").write_text(PLUGIN)
    first = harness(tmp_path, *SMALL, "--plugin", "faulty.py", "--methods", "faulty", "--set", "honesty=[placebo]")
    assert first.returncode == 1, first.stderr
    assert "failed      faulty seed 0" in first.stderr
    assert "faulty" in first.stderr.split("failed      faulty seed 0")[1].splitlines()[1]
    assert "no luck" in first.stderr
    assert "Provisional" in first.stdout
    runs = tmp_path / "runs" / "quickstart"
    (base,) = runs.glob("grpo_beta_0-*/seed-0")
    (placebo,) = runs.glob("*placebo*/seed-0")
    for name in ("metrics.jsonl", "evaluations.jsonl", "items.jsonl"):
        assert (placebo / name).read_bytes() == (base / name).read_bytes()
    from mlflow import MlflowClient

    store = MlflowClient(f"sqlite:///{tmp_path / 'runs' / 'mlflow.db'}")
    experiments = [found.experiment_id for found in store.search_experiments()]
    rows = [run.data.tags.get("row") for run in store.search_runs(experiments)]
    assert rows.count("seed") == 3
    assert rows.count("board") == 1

    (tmp_path / "faulty.py").write_text(PLUGIN.replace("state.step == 1", "False"))  # its author mends it
    again = harness(tmp_path, *SMALL, "--plugin", "faulty.py", "--methods", "faulty", "--set", "honesty=[placebo]")
    assert again.returncode == 0, again.stderr
    assert again.stderr.count("done  ") == 1  # the others were done

    (tmp_path / "faulty.py").write_text(PLUGIN.replace("state.step == 1", "None"))  # and changes it once more
    stale = harness(tmp_path, *SMALL, "--plugin", "faulty.py", "--methods", "faulty", "--set", "honesty=[placebo]")
    assert stale.returncode == 2
    assert "another version of faulty; start anew with" in stale.stderr
