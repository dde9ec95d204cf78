"""Low-rank adapters (LoRA, arXiv 2106.09685) through peft: what trains is small, what it adapts stays as it is.

Every other policy of a trial (reference, lagged sampler, averages, teachers) shares the frozen tensors: it is a tree of
modules of its own over the same memory.
"""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from harness.errors import HarnessError, UsageError, nearest

__all__ = ["Lora", "adapted", "has_adapter", "lighten", "merged", "merged_weights", "shared_copy", "without_adapter"]

SEED = 0  # of the adapter's first weights: one draw, the same for every trial


class Lora(Protocol):
    """The settings of an adapter, as a suite's `policy.lora` has them."""

    @property
    def rank(self) -> int: ...
    @property
    def alpha(self) -> float: ...
    @property
    def rslora(self) -> bool: ...
    @property
    def targets(self) -> str | tuple[str, ...]: ...


def _peft() -> Any:
    try:
        import peft
    except ImportError:
        raise HarnessError("policy.lora needs an extra: pip install 'policy-harness[lora]'") from None
    return peft


def has_adapter(model: Any) -> bool:
    """Whether a model is wrapped by peft."""
    return hasattr(model, "peft_config") and hasattr(model, "get_base_model")


def adapted(model: Any, lora: Lora) -> Any:
    """The model with a new adapter that changes nothing yet; everything else is frozen.

    Raises UsageError for targets that the model has not.
    """
    peft = _peft()
    targets = lora.targets if isinstance(lora.targets, str) else list(lora.targets)
    if isinstance(targets, list):
        known = sorted({name.rpartition(".")[2] for name, part in model.named_modules() if _adaptable(part)})
        for name in targets:
            if name not in known:
                raise UsageError(f"policy.lora.targets: the model has no layer {name!r}.{nearest(name, known)}")
    settings = peft.LoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, lora_dropout=0.0, use_rslora=lora.rslora, target_modules=targets,
        task_type="CAUSAL_LM",
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]), _quietly():
        torch.manual_seed(SEED)
        head = model.get_output_embeddings()
        try:
            made = peft.get_peft_model(model, settings)
        except (ValueError, re.error) as error:
            raise UsageError(f"policy.lora.targets {targets!r}: {str(error).strip().splitlines()[0]}") from error
        if made.get_output_embeddings() is not head:
            raise UsageError("policy.lora.targets: the head computes in float32 and takes no adapter; leave it out")
        return made


def _adaptable(module: Any) -> bool:
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"


@contextmanager
def _quietly() -> Iterator[None]:
    """Leave out warnings of what peft sets right itself (transposed layers), and of what it calls by an old name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def merged(model: Any, directory: Any) -> Any:
    """A loaded model with an adapter from disk added into its weights."""
    peft = _peft()
    with _quietly():
        return peft.PeftModel.from_pretrained(model, directory).merge_and_unload()


def lighten(model: Any, dtype: torch.dtype) -> None:
    """Hold the frozen matrices under adapters in bfloat16, everything else in `dtype`.

    Under bfloat16 products round these matrices anyway, so no number changes; embeddings, norms and the head stay.
    """
    below = {id(p) for m in model.modules() if hasattr(m, "base_layer") for p in m.base_layer.parameters(recurse=False)}
    for parameter in model.parameters():
        parameter.data = parameter.data.to(torch.bfloat16 if id(parameter) in below else dtype)


def shared_copy(model: Any, kept: Collection[str]) -> Any:
    """A frozen copy with parameters `kept` of its own, all others and all buffers those of the model itself."""
    return _tree(model, kept).requires_grad_(False).eval()


def without_adapter(model: Any) -> Any:
    """The frozen model below an adapter, in modules of its own over the same tensors."""
    return _tree(model, ()).unload().requires_grad_(False).eval()  # once the adapter, which goes on training, is out


def _tree(model: Any, kept: Collection[str]) -> Any:
    shared = {id(p): p for name, p in model.named_parameters() if name not in kept}
    shared |= {id(x): x for x in model.buffers()}
    return copy.deepcopy(model, shared)


def merged_weights(model: Any) -> dict[str, Tensor]:
    """Weights of the plain model with the adapter added to them, by the plain model's names, float32 on the CPU."""
    inner = model.get_base_model()
    names = {id(p): name for name, p in inner.named_parameters()}
    found = {}
    for name, parameter in inner.named_parameters():
        if ".lora_" not in name:
            found[name.replace(".base_layer.", ".")] = parameter.detach().float().cpu()
    for module in inner.modules():
        if hasattr(module, "get_delta_weight") and getattr(module, "active_adapters", None):
            name = names[id(module.base_layer.weight)].replace(".base_layer.", ".")
            for adapter in module.active_adapters:
                found[name] = found[name] + module.get_delta_weight(adapter).detach().float().cpu()
    return found
