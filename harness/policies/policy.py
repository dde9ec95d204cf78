"""A policy: a transformers causal LM with its tokenizer, asked for log-probabilities of completions."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness.batch import TopLogits
from harness.errors import HarnessError, UsageError, nearest
from harness.policies.backbone import backbone_of
from harness.policies.forward import NEEDS, Forward, score_tokens, token_kl
from harness.policies.registry import resolve

if TYPE_CHECKING:
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
        self, model: Any, tokenizer: Any, *, precision: str = "float32", device: str = "cpu", chat: bool | None = None
    ) -> None:
        if precision not in PRECISIONS:
            raise UsageError(f"policy dtype {precision!r} is unknown.{nearest(precision, PRECISIONS)}")
        self.precision = precision
        self.dtype = PRECISIONS[precision]
        self.device = torch.device(device)
        self.tokenizer = tokenizer
        self.model = model.to(device=self.device, dtype=self.dtype).eval()
        self.chat = bool(getattr(tokenizer, "chat_template", None)) if chat is None else chat
        self.stop_ids = _stop_ids(model, tokenizer)
        self.pad_id = _first(tokenizer.pad_token_id, *self.stop_ids, 0)
        self.context: int | None = getattr(model.config, "max_position_embeddings", None)
        self.n_params = sum(parameter.numel() for parameter in model.parameters())
        self.backbone = backbone_of(self.model, precision)
        self._pieces: dict[int, str] = {}

    @classmethod
    def load(cls, name: str | Path, dtype: str = "float32", device: str = "cpu", *, chat: bool | None = None) -> Policy:
        """A policy from "embedded", the name of an added model, or a directory that transformers can load."""
        from safetensors import SafetensorError
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging

        path = resolve(name)
        shown = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()
        try:
            tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True)
            model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, local_files_only=True)
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            reason = str(error).strip().splitlines()[0]
            raise HarnessError(f"policy {str(name)!r}: transformers cannot load {path}: {reason}") from error
        finally:
            if shown:
                logging.enable_progress_bar()
        return cls(model, tokenizer, precision=dtype, device=device, chat=chat)

    def save(self, directory: str | Path) -> None:
        """Write model and tokenizer as a directory that transformers (and `load`) can read."""
        self.model.save_pretrained(directory)
        self.tokenizer.save_pretrained(directory)

    def clone(self) -> Policy:
        """A frozen copy of the weights as they are now (reference policy, lagged sampler, teacher)."""
        twin = copy.copy(self)
        twin.model = copy.deepcopy(self.model).requires_grad_(False).eval()
        twin.backbone = backbone_of(twin.model, self.precision)
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
        for name, parameter in sorted(self.model.named_parameters()):
            state.update(name.encode())
            state.update(parameter.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        return state.hexdigest()

    # -- text ----------------------------------------------------------------------------------------------------

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, with no special token around it."""
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def encode_prompt(self, text: str, system: str | None = None) -> list[int]:
        """The tokens that a completion of `text` follows: by the chat template, or the text behind <bos> if any."""
        if self.chat:
            turns = [{"role": "system", "content": system}] if system is not None else []
            turns.append({"role": "user", "content": text})
            return self.encode(self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))
        if system is not None:
            text = f"{system}\n\n{text}"
        ids = list(self.tokenizer(text)["input_ids"])
        if ids and ids[-1] == self.tokenizer.eos_token_id:
            ids.pop()  # some tokenizers close every text; a prompt stays open
        return ids or [_first(self.tokenizer.bos_token_id, *self.stop_ids, self.pad_id)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of tokens, special ones included."""
        return self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)

    def decode_all(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The texts of many rows of tokens."""
        return self.tokenizer.batch_decode(
            [list(row) for row in rows], skip_special_tokens=False, clean_up_tokenization_spaces=False
        )

    def token_texts(self, ids: Sequence[int]) -> list[str]:
        """The text of every token on its own."""
        missing = sorted(set(ids) - self._pieces.keys())
        self._pieces |= dict(zip(missing, self.decode_all([[token] for token in missing]), strict=True))
        return [self._pieces[token] for token in ids]

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


def _stop_ids(model: Any, tokenizer: Any) -> tuple[int, ...]:
    """Every id that ends a completion: of the generation settings (several for some chat models) and the tokenizer."""
    found: list[int] = []
    settings = getattr(model, "generation_config", None)
    for value in (getattr(settings, "eos_token_id", None), model.config.eos_token_id, tokenizer.eos_token_id):
        found += [] if value is None else [value] if isinstance(value, int) else list(value)
    return tuple(dict.fromkeys(found))


def _first(*values: int | None) -> int:
    return next(value for value in values if value is not None)
