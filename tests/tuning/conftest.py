from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from harness.suites.run import execute, plan
from harness.suites.schema import Suite

TOY = """\
name: toy
budget: {updates: 20}
optimizer: {lr: 1e-4}
baseline: grpo(beta=0)
methods: [dapo, rloo]
seeds: 2
honesty: []
tuning: {trials: 4}
"""


@pytest.fixture
def toy(tmp_path):
    """A suite with tuning, its settings changed by --set."""

    def make(*sets: str, text: str = TOY) -> Suite:
        file = tmp_path / "toy.yaml"
        file.write_text(text)
        return Suite.load(file, sets)

    return make


@pytest.fixture
def run(tmp_path, toy):
    """Run it with stand-in trials; returns (report, what was printed, the run directory)."""

    def run(*sets: str, runner: str = "by_rate", shard: tuple[int, int] = (1, 1), **options):
        console = Console(file=io.StringIO(), width=100)
        todo = plan(toy(*sets), out=tmp_path / "runs", shard=shard)
        report = execute(todo, workers=2, console=console, runner=f"tests.tuning.fake_trials:{runner}", **options)
        return report, console.file.getvalue(), Path(todo.store.path)

    return run
