"""The same tests on the oldest transformers that we support: its cache has other names and other arguments."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

OLDEST = ("transformers==4.56.0", "huggingface-hub<1", "tokenizers>=0.22,<0.23")
FILES = (
    "test_generic.py", "test_llama.py", "test_policy.py", "test_sampler.py", "test_chars.py", "test_head.py",
    "test_text.py", "test_manner.py", "test_adapter.py",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_policies_on_the_oldest_transformers(tmp_path):
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path), *OLDEST]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no package index: {done.stderr.strip().splitlines()[-1]}")
    folder = Path(__file__).parent
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(str(folder / file) for file in FILES)]
    search = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH", ""))))
    result = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": search}, check=False
    )
    assert result.returncode == 0, result.stdout[-3000:]
