"""From a model's name and settings to the network and the tokenizer of a policy."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from harness.errors import HarnessError
from harness.policies.adapter import Lora, merged
from harness.policies.registry import resolve

__all__ = ["Settings", "load_model", "load_tokenizer"]


class Settings(Protocol):
    """How a suite's section `policy` describes one."""

    @property
    def model(self) -> str: ...
    @property
    def revision(self) -> str | None: ...
    @property
    def dtype(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def chat(self) -> bool | None: ...
    @property
    def chat_options(self) -> Mapping[str, Any]: ...
    @property
    def stop(self) -> tuple[str, ...]: ...
    @property
    def lora(self) -> Lora | None: ...
    @property
    def attention(self) -> str | None: ...
    @property
    def gradient_checkpointing(self) -> bool: ...
    @property
    def compile(self) -> bool: ...


def load_tokenizer(name: str | Path, revision: str | None = None) -> Any:
    """The tokenizer of a model. HarnessError where transformers cannot read it."""
    from transformers import AutoTokenizer

    path = resolve(name, revision)
    if not any(path.glob("*token*")) and not any(path.glob("vocab*")) and not any(path.glob("*.model")):
        raise HarnessError(
            f"policy {str(name)!r}: {path} has no tokenizer (tokenizer.json, as a rule); "
            "put it there with its save_pretrained"
        )
    with _one_line(name, path):
        return AutoTokenizer.from_pretrained(path, local_files_only=True)


def load_model(
    name: str | Path, revision: str | None = None, *, attention: str | None = None, lean: bool = False
) -> Any:
    """The network of a model, in float32, or as its files are with `lean`; an adapter's directory gives the sum."""
    import torch
    from transformers import AutoModelForCausalLM

    path = resolve(name, revision)
    options: dict[str, Any] = {"dtype": "auto" if lean else torch.float32, "local_files_only": True}
    if attention is not None:
        options["attn_implementation"] = attention
    below = base_of(path)
    with _one_line(name, path):
        if below is None:
            return AutoModelForCausalLM.from_pretrained(path, **options)
        return merged(AutoModelForCausalLM.from_pretrained(resolve(*below), **options), path)


def base_of(path: Path) -> tuple[str, str | None] | None:
    """Name and revision of the model that an adapter's directory is for; None for a whole model."""
    file = path / "adapter_config.json"
    if not file.is_file():
        return None
    found = json.loads(file.read_text(encoding="utf-8"))
    return str(found["base_model_name_or_path"]), found.get("revision")


@contextlib.contextmanager
def _one_line(name: str | Path, path: Path) -> Iterator[None]:
    """No progress bars, and what transformers raises as one line."""
    from safetensors import SafetensorError
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise HarnessError(f"policy {str(name)!r}: transformers cannot load {path}: {reason}") from error
    finally:
        if shown:
            logging.enable_progress_bar()
