"""Models by their name on the Hugging Face Hub: from its cache first, downloaded where that is allowed."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from harness.errors import HarnessError, UsageError

__all__ = ["commit_of", "fetch", "is_hub_name", "offline"]

# weights as safetensors only: pickles run code; no other framework's files
FILES = ("*.safetensors", "*.json", "*.jinja", "tokenizer.model", "*.tiktoken", "merges.txt", "vocab.txt")


def is_hub_name(name: str) -> bool:
    """Whether a name is written as those of the Hub: owner/name."""
    return re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", name) is not None


def offline() -> bool:
    """Whether the Hub must not be asked."""
    return any(
        os.environ.get(name, "").lower() in {"1", "true", "yes", "on"}
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    )


def fetch(name: str, revision: str | None = None, *, again: bool = False) -> Path:
    """The directory of a model of the Hub: what the cache holds, else a download. `again` asks the Hub first.

    Raises UsageError offline for a model that is not in the cache, HarnessError for a download that fails.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    if not again and (found := _cached(name, revision)) is not None:
        return found
    version = "" if revision is None else f"@{revision}"
    command = f"harness models add {name}{version}"
    if offline():
        raise UsageError(
            f"policy model {name + version!r} is not in the Hub's cache, and HF_HUB_OFFLINE is set: unset it and run "
            f"`{command}`, or copy the model's directory here and give its path"
        )
    try:
        path = Path(snapshot_download(name, revision=revision, allow_patterns=list(FILES)))
    except (OSError, ValueError, LocalEntryNotFoundError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise HarnessError(
            f"policy model {name + version!r} is in no cache and could not be downloaded ({reason}); try `{command}` "
            "where the Hub can be reached, or copy the model's directory here and give its path"
        ) from error
    if not _whole(path):
        raise HarnessError(
            f"policy model {name + version!r} has no safetensors on the Hub; convert it, and give its path"
        )
    return path


def commit_of(path: Path) -> str | None:
    """The commit of a directory in the Hub's cache; None for any other."""
    return path.name if path.parent.name == "snapshots" and re.fullmatch(r"[0-9a-f]{40}", path.name) else None


def _cached(name: str, revision: str | None) -> Path | None:
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name, "config.json", revision=revision)
    path = Path(found).parent if isinstance(found, str) else None
    return path if path is not None and _whole(path) else None


def _whole(path: Path) -> bool:
    """Whether weights lie beside the configuration: all parts of them that the index names."""
    index = path / "model.safetensors.index.json"
    if index.is_file():
        parts = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        return all((path / part).is_file() for part in parts)
    return any(path.glob("*.safetensors"))
