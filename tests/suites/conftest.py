from pathlib import Path

import pytest

from harness.suites.schema import Suite

FAKES = "tests.suites.fake_trials"


@pytest.fixture
def write(tmp_path):
    """Write a suite file, dedented as given."""

    def write(name: str, text: str) -> Path:
        file = tmp_path / name
        file.write_text(text)
        return file

    return write


@pytest.fixture
def suite(write):
    """A small suite with settings changed by keyword (dots as double underscores)."""

    def make(**changes) -> Suite:
        file = write("small.yaml", "name: small\nbudget: {updates: 20}\nmethods: [dr-grpo]\nseeds: 2\nhonesty: []\n")
        sets = [f"{key.replace('__', '.')}={value}" for key, value in changes.items() if not isinstance(value, list)]
        return Suite.load(file, sets, {key: value for key, value in changes.items() if isinstance(value, list)})

    return make
