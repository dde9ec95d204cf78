"""How large a model is, from its configuration and the headers of its files: nothing heavy is read or imported."""

from __future__ import annotations

import dataclasses
import json
import math
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError
from harness.policies.registry import resolve

if TYPE_CHECKING:
    from harness.policies.load import Settings

__all__ = ["Size", "check_files", "layers_of", "shapes", "size_of"]

LEAN = {"LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM"}  # most of these; `llama.is_lean` looks closer
NAMES = {  # what configurations call it
    "width": ("hidden_size", "n_embd", "d_model"),
    "layers": ("num_hidden_layers", "n_layer", "num_layers", "n_layers"),
    "heads": ("num_attention_heads", "n_head", "num_heads", "n_heads"),
    "inner": ("intermediate_size", "n_inner", "ffn_dim"),
    "vocabulary": ("vocab_size",),
}
HEADS = ("lm_head", "embed_out", "embed", "wte", "wpe", "word_embeddings")  # matrices that no adapter stands over


@dataclasses.dataclass(frozen=True)
class Size:
    """The numbers of a network that memory depends on; `parameters` are those of the model without an adapter.

    `adapter` are the numbers of the adapter, `below` those of the matrices that it stands over. `lean`: whether the
    harness's own forward may serve.
    """

    parameters: int
    adapter: int
    below: int
    layers: int
    width: int
    inner: int
    heads: int
    kv_heads: int
    head: int
    vocabulary: int
    lean: bool
    files: int = 0  # bytes of the weights on disk


def size_of(settings: Settings) -> Size:
    """The size of the model that the section `policy` names. UsageError where it is not here."""
    path = resolve(settings.model, settings.revision)
    if (path / "adapter_config.json").is_file():
        from harness.policies.load import base_of

        below = base_of(path)
        path = path if below is None else resolve(*below)
    config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    config = config | config.get("text_config", {})
    found = {name: _first(config, keys, path) for name, keys in NAMES.items() if name != "inner"}
    sides = dict(shapes(path))
    if not sides:
        raise HarnessError(f"{path} has no safetensors files; save the model with transformers once more")
    adapter, under = _adapter(sides, settings)
    head = config.get("head_dim") or found["width"] // found["heads"]
    plain = settings.attention is None and not settings.compile
    return Size(
        parameters=sum(map(math.prod, sides.values())),
        adapter=adapter,
        below=under,
        inner=next((config[key] for key in NAMES["inner"] if config.get(key)), 4 * found["width"]),
        kv_heads=config.get("num_key_value_heads") or found["heads"],
        head=head,
        files=sum(file.stat().st_size for file in path.glob("*.safetensors")),
        lean=plain and set(config.get("architectures") or ()) <= LEAN,
        **found,
    )


def layers_of(settings: Settings) -> list[str]:
    """The names of the layers that an adapter can stand over, where files tell them; else none.

    They do for the architectures of `LEAN`; other models may have other names in memory than in their files.
    """
    path = resolve(settings.model, settings.revision)
    config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    if not set(config.get("architectures") or ("?",)) <= LEAN:
        return []
    matrices = [name.removesuffix(".weight") for name, shape in shapes(path) if len(shape) == 2]
    return sorted({name.rpartition(".")[2] for name in matrices} - {"embed_tokens"} | {"lm_head"})


def check_files(directory: Path) -> None:
    """Raise HarnessError where a safetensors file of a directory is damaged: its header is read, and its length."""
    for file in sorted(directory.glob("*.safetensors")):
        size = file.stat().st_size
        try:
            length, entries = _header(file)
            ends = [entry["data_offsets"][1] for entry in entries.values()]
        except (struct.error, ValueError, TypeError, KeyError, AttributeError, IndexError):
            raise HarnessError(f"{file} is no safetensors file, or is damaged; fetch or save it again") from None
        needed = 8 + length + max(ends, default=0)
        if size < needed:
            raise HarnessError(f"{file} is cut short: {size} bytes of {needed}; fetch or save it again")


def shapes(directory: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes of the tensors in a directory's safetensors files, read from their headers alone."""
    for file in sorted(directory.glob("*.safetensors")):
        for name, entry in _header(file)[1].items():
            yield name, tuple(entry["shape"])


def _header(file: Path) -> tuple[int, dict[str, Any]]:
    """Length of a safetensors file's header, and its entry of every tensor."""
    with file.open("rb") as content:
        length = struct.unpack("<Q", content.read(8))[0]
        header = json.loads(content.read(min(length, file.stat().st_size)))
    return length, {name: entry for name, entry in header.items() if name != "__metadata__"}


def _adapter(sides: Mapping[str, tuple[int, ...]], settings: Settings) -> tuple[int, int]:
    """How many numbers the adapter has, and the matrices under it."""
    lora = settings.lora
    if lora is None:
        return 0, 0
    chosen = []
    for name, shape in sides.items():
        module = name.removesuffix(".weight").rpartition(".")[2]
        if len(shape) == 2 and not module.startswith(HEADS) and (
            isinstance(lora.targets, str) or module in lora.targets
        ):  # fmt: skip
            chosen.append(shape)
    return sum(lora.rank * sum(shape) for shape in chosen), sum(map(math.prod, chosen))


def _first(config: Mapping[str, Any], keys: tuple[str, ...], path: Path) -> int:
    for key in keys:
        if config.get(key):
            return int(config[key])
    raise HarnessError(f"{path / 'config.json'} names no {keys[0]}; give a causal language model of attention layers")
