"""From a GGUF file to a directory that transformers can load, train and save."""

from __future__ import annotations

import copy
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from harness.errors import HarnessError, UsageError

__all__ = ["SOURCE", "convert"]

SOURCE = "harness-source.json"  # where an added model came from


def convert(gguf_path: str | Path, out_dir: str | Path, *, source: Mapping[str, str] | None = None) -> Path:
    """Dequantise a GGUF model and write it, with its tokenizer, as bfloat16 safetensors.

    Transformers refuses to save a model that it read from GGUF, so its weights move to a fresh one of the same
    configuration. `source` is kept beside the weights. The directory appears only when it is complete.
    """
    path, target = Path(gguf_path), Path(out_dir)
    if not path.is_file():
        raise UsageError(f"GGUF file {path} does not exist")
    if target.exists():
        raise UsageError(f"{target} exists already; remove it first")
    try:
        import gguf  # noqa: F401
    except ImportError:
        raise HarnessError(
            f"reading {path.name} needs an extra: pip install 'policy-harness[gguf]', then run the same command again"
        ) from None
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        _write(path, draft)
        (draft / SOURCE).write_text(json.dumps({"file": path.name, **(source or {})}, indent=2) + "\n")
        draft.chmod(0o755)  # temporary files and folders are private
        for file in draft.iterdir():
            file.chmod(0o644)
        os.replace(draft, target)  # noqa: PTH105 - a rename, in one step
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target


def _write(path: Path, out: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
        read = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    except (OSError, ValueError, KeyError, RuntimeError, NotImplementedError) as error:
        reason = str(error).strip().splitlines()[0]
        raise HarnessError(f"{path.name}: transformers cannot read this GGUF file: {reason}") from error
    config = copy.deepcopy(read.config)
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    with torch.random.fork_rng(devices=[]):
        fresh = type(read)(config)
    fresh.load_state_dict(read.state_dict())
    fresh.generation_config = read.generation_config
    fresh.generation_config.eos_token_id = tokenizer.eos_token_id
    fresh.to(torch.bfloat16).save_pretrained(out)
    tokenizer.save_pretrained(out)
