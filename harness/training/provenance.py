"""Which versions, commit, processor and threads made a result."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["provenance"]

PACKAGES = (
    "policy-harness", "torch", "transformers", "tokenizers", "safetensors", "pluggy", "numpy", "lm-eval", "math-verify",
)  # fmt: skip


@functools.cache
def provenance() -> dict[str, Any]:
    """Plain values, for config.json; what cannot be found out is None."""
    torch = sys.modules.get("torch")
    return {
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "commit": _commit(),
        "system": platform.platform(),
        "cpu": _cpu(),
        "capability": None if torch is None else torch.backends.cpu.get_cpu_capability(),
        "threads": None if torch is None else torch.get_num_threads(),
        "device": _device(torch),
        "host": platform.node(),
    }


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit of a source checkout, with `+changes` where tracked files differ; None for an installed wheel."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        head = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        ).stdout.strip()
        changed = subprocess.run(
            ["git", "status", "--porcelain", "--untracked-files=no"],
            cwd=root, env=environment, capture_output=True, text=True, timeout=10, check=True,
        ).stdout.strip()  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{head}+changes" if changed else head


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _device(torch: Any) -> str | None:
    if torch is None or not torch.cuda.is_available():
        return None
    return str(torch.cuda.get_device_name())
