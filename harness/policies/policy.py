"""A policy: a transformers causal LM with its tokenizer, asked for log-probabilities of completions."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness.batch import TopLogits
from harness.distributed import sharding
from harness.distributed.world import SOLO, World
from harness.errors import UsageError, nearest
from harness.policies.adapter import adapted, has_adapter, lighten, merged_weights, shared_copy, without_adapter
from harness.policies.backbone import PLAIN, Manner, backbone_of
from harness.policies.forward import NEEDS, Forward, score_tokens, token_kl
from harness.policies.load import load_model, load_tokenizer
from harness.policies.text import Text

if TYPE_CHECKING:
    from harness.policies.load import Settings
    from harness.policies.twin import PolicyCopy

__all__ = ["PRECISIONS", "Policy"]

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.float32, "float64": torch.float64}


class Policy:
    """A causal language model with its tokenizer.

    `precision` is what computes: under "bfloat16" the parameters stay float32 and matrix products run in bfloat16.
    `dtype` is that of parameters and log-probabilities. Dropout is off, always. `chat` says whether prompts go
    through the tokenizer's chat template (default: where it has one).
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        precision: str = "float32",
        device: str = "cpu",
        chat: bool | None = None,
        chat_options: Mapping[str, Any] | None = None,
        stop: Sequence[str] = (),
        manner: Manner = PLAIN,
    ) -> None:
        """`chat_options` are variables of the template, `stop` texts of one token that end a completion too.

        A model that peft wraps trains its adapter alone.
        """
        if precision not in PRECISIONS:
            raise UsageError(f"policy dtype {precision!r} is unknown.{nearest(precision, PRECISIONS)}")
        self.precision = precision
        self.dtype = PRECISIONS[precision]
        self.device = _device(device)
        self.text = Text(tokenizer, chat=chat, options=chat_options)
        self.tokenizer = tokenizer
        self.manner = manner
        self.adapted = has_adapter(model)
        if self.adapted and precision == "bfloat16":
            lighten(model, self.dtype)
            self.model = model.to(self.device).eval()
        else:
            self.model = model.to(device=self.device, dtype=self.dtype).eval()
        self.chat = self.text.chat
        self.stop_ids = _stop_ids(model, tokenizer, [self.text.stop_id(text) for text in stop])
        self.pad_id = _first(tokenizer.pad_token_id, *self.stop_ids, 0)
        self.world: World = SOLO  # the ranks that share the work on rows
        self.sharded = False  # whether they share the weights, too
        self.context: int | None = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self.n_params = sum(parameter.numel() for parameter in model.parameters())
        self.trains = frozenset(name for name, p in model.named_parameters() if p.requires_grad or not self.adapted)
        self.backbone = backbone_of(self.model, precision, manner)
        self._base: str | None = None

    @classmethod
    def load(cls, name: str | Path, dtype: str = "float32", device: str = "cpu", *, chat: bool | None = None) -> Policy:
        """A policy from "embedded", the name of an added model, of the Hub, or a directory transformers can load."""
        return cls(load_model(name), load_tokenizer(name), precision=dtype, device=device, chat=chat)

    @classmethod
    def of(cls, settings: Settings, *, device: str | None = None) -> Policy:
        """A policy as the section `policy` of a suite describes it, on another `device` if one is given."""
        lora, lean = settings.lora, settings.lora is not None and settings.dtype == "bfloat16"
        tokenizer = load_tokenizer(settings.model, settings.revision)
        model = load_model(settings.model, settings.revision, attention=settings.attention, lean=lean)
        manner = Manner(settings.attention, settings.gradient_checkpointing, settings.compile)
        return cls(
            model if lora is None else adapted(model, lora), tokenizer, precision=settings.dtype,
            device=device or settings.device, chat=settings.chat, chat_options=settings.chat_options,
            stop=settings.stop, manner=manner,
        )  # fmt: skip

    def save(self, directory: str | Path, dtype: torch.dtype | None = None) -> None:
        """Write model and tokenizer as a directory that transformers (and `load`) can read; an adapter is merged.

        Weights are rounded to `dtype`, or written as they are (merged ones in float32).
        """
        weights = merged_weights(self.model) if self.adapted else None
        if dtype is not None:
            weights = _rounded(self.model.state_dict() if weights is None else weights, dtype)
        model = without_adapter(self.model) if self.adapted else self.model
        model.save_pretrained(directory, state_dict=weights)
        self.tokenizer.save_pretrained(directory)

    def save_adapter(self, directory: str | Path, base: str | None = None, revision: str | None = None) -> None:
        """Write the adapter alone, as peft and vLLM read it, over the model that `base` names."""
        if not self.adapted:
            raise UsageError("this policy has no adapter; save the whole model")
        settings = self.model.peft_config["default"]
        settings.base_model_name_or_path = base or settings.base_model_name_or_path
        settings.revision = revision
        self.model.save_pretrained(directory)
        self.tokenizer.save_pretrained(directory)

    def weights(self) -> dict[str, torch.nn.Parameter]:
        """What training moves, by name: every parameter, or those of the adapter."""
        return {name: p for name, p in self.model.named_parameters() if name in self.trains}

    def shard(self, *, average: bool = False) -> None:
        """Divide the weights over the ranks of `world`. Raises UsageError for an adapter: policies share what it is on.

        Gradients are summed over ranks, or averaged.
        """
        if self.adapted:
            raise UsageError("resources.sharded does not go with policy.lora: drop one of them")
        sharding.divide(self.model, self.world.size, average=average)
        self.backbone = backbone_of(self.model, self.precision, self.manner, plain=True)
        self.sharded = True

    def clone(self) -> Policy:
        """A frozen copy of the weights as they are now (lagged sampler, teacher); frozen ones are shared."""
        if self.adapted:
            return self._over(shared_copy(self.model, self.trains))
        return self._over(copy.deepcopy(self.model).requires_grad_(False).eval())

    def initial(self) -> Policy:
        """The policy before any training, as a reference: a copy, or what lies below the adapter, in no new memory.

        Asked of a policy that has not trained yet.
        """
        return self._over(without_adapter(self.model)) if self.adapted else self.clone()

    def _over(self, model: Any) -> Policy:
        twin = copy.copy(self)
        twin.model = model
        twin.backbone = backbone_of(model, self.precision, self.manner, apart=self.adapted)  # the same arithmetic
        return twin

    def copy(self) -> PolicyCopy:
        """A frozen copy that the hook `build` can return: metered, checkpointed, and moved by `follow`."""
        from harness.policies.twin import PolicyCopy

        return PolicyCopy(self)

    def digest(self) -> str:
        """A hash of architecture, vocabulary and weights."""
        state = hashlib.sha256()
        config = {
            k: v for k, v in self.model.config.to_dict().items() if k not in {"transformers_version", "_name_or_path"}
        }
        state.update(json.dumps(config, sort_keys=True, default=str).encode())
        state.update(json.dumps(sorted(self.tokenizer.get_vocab().items())).encode())
        return _hashed(state, dict(self.model.named_parameters()))

    def base_digest(self) -> str | None:
        """A hash of the frozen weights below an adapter, which its checkpoints do not hold; None without one."""
        if self.adapted and self._base is None:
            frozen = {name: p for name, p in self.model.named_parameters() if name not in self.trains}
            self._base = _hashed(hashlib.sha256(), frozen)
        return self._base

    # -- text ----------------------------------------------------------------------------------------------------

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, with no special token around it."""
        return self.text.encode(text)

    def encode_prompt(self, text: str, system: str | None = None) -> list[int]:
        """The tokens that a completion of `text` follows: by the chat template, or the text behind <bos> if any."""
        ids = self.text.prompt(text, system)
        return ids or [_first(self.tokenizer.bos_token_id, *self.stop_ids, self.pad_id)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of tokens, special ones included."""
        return self.decode_all([ids])[0]

    def decode_all(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The texts of many rows of tokens."""
        return self.text.decode_all(rows)

    def token_texts(self, ids: Sequence[int]) -> list[str]:
        """The text of every token on its own."""
        return self.text.pieces(ids)

    # -- numbers -------------------------------------------------------------------------------------------------

    def forward(
        self,
        prompt_ids: Tensor,
        prompt_mask: Tensor,
        completion_ids: Tensor,
        mask_or_lengths: Tensor,
        *,
        temperature: float | Tensor = 1.0,
        needs: Collection[str] = frozenset(),
    ) -> Forward:
        """Log-probabilities of completions under softmax(logits / temperature), with gradient.

        Prompts [N, P] left-padded with their mask, completions [N, T] right-padded, and a mask [N, T] or lengths [N].
        A row reaches to the last token that its mask lets in; tokens before it are read even where the mask is 0,
        but their own outputs are 0. `needs`: entropy, hidden, top_logits.
        """
        unknown = set(needs) - NEEDS
        if unknown:
            needed = min(unknown)
            raise UsageError(f"policy.forward: need {needed!r} is unknown.{nearest(needed, NEEDS)}")
        if not len(prompt_ids):
            return self._nothing(completion_ids, needs)
        positions = torch.arange(1, completion_ids.shape[1] + 1, device=completion_ids.device)
        if mask_or_lengths.dim() == 1:
            lengths, mask = mask_or_lengths, positions <= mask_or_lengths[:, None]
        else:
            mask = mask_or_lengths > 0
            lengths = (positions * mask).amax(1) if mask.shape[1] else mask.sum(1)
        scored = self.backbone.score(prompt_ids, prompt_mask, completion_ids, lengths, hidden="hidden" in needs)
        return score_tokens(scored, completion_ids, mask, temperature, set(needs))

    @torch.no_grad()
    def kl(
        self, other: Any, prompt_ids: Tensor, prompt_mask: Tensor, completion_ids: Tensor, mask: Tensor, *,
        temperature: float | Tensor = 1.0,
    ) -> Tensor:  # fmt: skip
        """KL(self || other) [N, T] over the whole vocabulary at every token's position, 0 where masked, no gradient.

        `other` is a policy of the same network; the tensors are those of `forward`, with a mask [N, T].
        """
        positions = torch.arange(1, completion_ids.shape[1] + 1, device=completion_ids.device)
        lengths = (positions * (mask > 0)).amax(1) if mask.shape[1] else mask.sum(1)
        inputs = (prompt_ids, prompt_mask, completion_ids, lengths)
        scored = self.backbone.score(*inputs), other.backbone.score(*inputs)
        return token_kl(*scored, completion_ids, mask > 0, temperature)

    def _nothing(self, completion_ids: Tensor, needs: Collection[str]) -> Forward:
        """The answer for no rows at all: that for one empty row, without the row."""
        prompt = completion_ids.new_full((1, 1), self.pad_id)
        blank = completion_ids.new_full((1, completion_ids.shape[1]), self.pad_id)
        one = self.forward(prompt, torch.ones_like(prompt), blank, torch.zeros_like(prompt[:, 0]), needs=needs)
        top = one.top_logits
        return Forward(
            logp=one.logp[:0],
            entropy=None if one.entropy is None else one.entropy[:0],
            hidden=None if one.hidden is None else one.hidden[:0],
            prompt_hidden=None if one.prompt_hidden is None else one.prompt_hidden[:0],
            top_logits=None if top is None else TopLogits(ids=top.ids[:0], logp=top.logp[:0]),
        )

    @torch.no_grad()
    def score(
        self,
        prompt_ids: Tensor | Sequence[Sequence[int]],
        completion_ids: Tensor | Sequence[Sequence[int]],
        *,
        prompt_mask: Tensor | None = None,
        mask: Tensor | None = None,
        temperature: float | Tensor = 1.0,
    ) -> Tensor:
        """Log-probabilities [N, T] of any tokens, without gradient.

        Rows are lists of ids of any lengths, or tensors with their masks (default: every position counts).
        """
        from harness.policies.padding import length_mask, pad_left, pad_right

        if not isinstance(prompt_ids, Tensor):
            prompt_ids, prompt_mask = (x.to(self.device) for x in pad_left(prompt_ids, self.pad_id))
        if not isinstance(completion_ids, Tensor):
            lengths = torch.tensor([len(row) for row in completion_ids], device=self.device)
            completion_ids = pad_right(completion_ids, self.pad_id, torch.long).to(self.device)
            mask = length_mask(lengths, completion_ids.shape[1])
        prompt_mask = torch.ones_like(prompt_ids) if prompt_mask is None else prompt_mask
        mask = torch.ones_like(completion_ids) if mask is None else mask
        return self.forward(prompt_ids, prompt_mask, completion_ids, mask, temperature=temperature).logp


def _device(name: str) -> torch.device:
    """The device of a name; UsageError where there is none of it."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UsageError(f"policy.device {name!r} is no device; give cpu, cuda or cuda:1") from None
    if device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= count:
            raise UsageError(f"policy.device {name!r}: torch sees {count} CUDA devices here; give cpu or one of them")
    return device


def _rounded(tensors: Mapping[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    """Floating numbers in `dtype`, on the CPU; tied tensors stay tied, so that they are written once."""
    done: dict[tuple[int, torch.Size], Tensor] = {}
    found = {}
    for name, x in tensors.items():
        key = (x.data_ptr(), x.shape)
        if key not in done:
            done[key] = x.to("cpu", dtype) if x.is_floating_point() else x
        found[name] = done[key]
    return found


def _hashed(state: Any, tensors: Mapping[str, Tensor]) -> str:
    for name, x in sorted(tensors.items()):
        state.update(name.encode())
        state.update(sharding.full(x.detach()).cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return str(state.hexdigest())


def _stop_ids(model: Any, tokenizer: Any, more: Sequence[int] = ()) -> tuple[int, ...]:
    """Every id that ends a completion: of the generation settings (several for some chat models), tokenizer, suite."""
    found: list[int] = []
    settings = getattr(model, "generation_config", None)
    config = model.config.get_text_config()
    for value in (getattr(settings, "eos_token_id", None), config.eos_token_id, tokenizer.eos_token_id):
        found += [] if value is None else [value] if isinstance(value, int) else list(value)
    return tuple(dict.fromkeys([*found, *more]))


def _first(*values: int | None) -> int:
    return next(value for value in values if value is not None)
