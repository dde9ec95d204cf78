"""Training numbers change on purpose only: with a higher TRAINING_SEMANTICS, or this test fails.

After such a change, write the new curve with `python -m tests.training.test_golden_curve`.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from harness.training import TRAINING_SEMANTICS
from harness.training.config import (
    BudgetConfig,
    LearnerConfig,
    OptimizerConfig,
    PolicyConfig,
    SamplingConfig,
    TaskShare,
    TrialConfig,
)
from harness.training.trial import run_trial

CURVE = Path(__file__).with_name("golden_curve.json")
KEPT = ("step", "spent", "loss", "reward", "length", "correct", "grad_norm", "log_ratio_max")


def _curve(directory: Path) -> list[dict[str, float]]:
    """Three steps of a stack that passes most stages, in float64 so that the processor matters little."""
    settings = TrialConfig(
        suite="golden",
        method="dapo(dynamic=False)+f-grpo",
        seed=1,
        policy=PolicyConfig(dtype="float64"),
        tasks=(TaskShare(task="math"),),
        sampling=SamplingConfig(prompts=6, group_size=4, max_tokens=24),
        learner=LearnerConfig(minibatches=2, micro_batch=16),
        optimizer=OptimizerConfig(lr=1e-4),
        budget=BudgetConfig(compute=9000),
    )
    result = run_trial(settings, directory)
    assert (result.status, result.error) == ("done", None)
    records = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    return [{name: record[name] for name in KEPT} for record in records]


def test_curve_is_the_recorded_one(tmp_path: Path) -> None:
    recorded = json.loads(CURVE.read_text())
    assert recorded["semantics"] == TRAINING_SEMANTICS, (
        "write the new curve: python -m tests.training.test_golden_curve"
    )
    curve = _curve(tmp_path)
    assert len(curve) == len(recorded["curve"]) >= 3
    for now, then in zip(curve, recorded["curve"], strict=True):
        assert now == pytest.approx(then, rel=1e-6, abs=1e-9), "numbers changed: raise TRAINING_SEMANTICS if meant"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        found = {"semantics": TRAINING_SEMANTICS, "curve": _curve(Path(folder))}
    CURVE.write_text(json.dumps(found, indent=1) + "\n")
