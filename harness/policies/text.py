"""Between texts and tokens: encoding, chat templates, decoding."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from harness.errors import HarnessError, UsageError

__all__ = ["Text"]

# what the harness itself passes to a template; anything else may be given as `chat_options`
RESERVED = frozenset({"conversation", "messages", "tokenize", "add_generation_prompt", "return_tensors", "return_dict"})
TODAY = dt.date(2024, 7, 26)  # for templates that write the date: prompts must not change from day to day
MARK = "what the system says"


class Text:
    """A tokenizer, and whether prompts go through its chat template (default: where it has one)."""

    def __init__(self, tokenizer: Any, *, chat: bool | None = None, options: Mapping[str, Any] | None = None) -> None:
        template = getattr(tokenizer, "chat_template", None)
        if chat and not template:
            raise UsageError("policy.chat is true, but the tokenizer has no chat template; set it to false")
        refused = RESERVED & set(options or {})
        if refused:
            raise UsageError(f"policy.chat_options: {min(refused)!r} is the harness's own; leave it out")
        self.tokenizer = tokenizer
        self.chat = bool(template) if chat is None else chat
        self.options = dict(options or {})
        if self.chat and "strftime_now" in str(template):
            self.options.setdefault("chat_template", _undated(tokenizer.get_chat_template()))
        self._pieces: dict[int, str] = {}

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, with no special token around it."""
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def prompt(self, text: str, system: str | None = None) -> list[int]:
        """The tokens that a completion of `text` follows; none at all for an empty text without <bos>."""
        if self.chat:
            return self._without_second_bos(self.encode(self.rendered(text, system)))
        if system is not None:
            text = f"{system}\n\n{text}"
        ids = list(self.tokenizer(text)["input_ids"])
        if ids and ids[-1] == self.tokenizer.eos_token_id:
            ids.pop()  # some tokenizers close every text; a prompt stays open
        return ids

    def rendered(self, text: str, system: str | None = None) -> str:
        """The chat so far as text, up to where the answer begins. HarnessError where the template refuses it."""
        from jinja2 import TemplateError

        if system is not None and not self.takes_system:
            text, system = f"{system}\n\n{text}", None
        try:
            return self._apply(text, system)
        except TemplateError as error:
            raise HarnessError(
                f"the policy's chat template refuses a prompt: {error}; see policy.chat_options"
            ) from None

    @cached_property
    def takes_system(self) -> bool:
        """Whether the chat template knows a system's turn; where not, it goes in front of the user's."""
        from jinja2 import TemplateError

        try:
            return MARK in self._apply("question", MARK)
        except TemplateError:
            return False

    def _apply(self, text: str, system: str | None) -> str:
        turns = [{"role": "system", "content": system}] if system is not None else []
        turns.append({"role": "user", "content": text})
        return str(
            self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True, **self.options)
        )

    def _without_second_bos(self, ids: list[int]) -> list[int]:
        """A template that writes <bos>, and a tokenizer or a second line that adds one more."""
        bos = self.tokenizer.bos_token_id
        while bos is not None and ids[:2] == [bos, bos]:
            ids.pop(0)
        return ids

    def decode_all(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The texts of many rows of tokens, special ones included."""
        if not len(rows):  # transformers 5.19 has one text for no rows
            return []
        return list(
            self.tokenizer.batch_decode(
                [list(row) for row in rows], skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
        )

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The text of every token on its own."""
        missing = sorted(set(ids) - self._pieces.keys())
        self._pieces |= dict(zip(missing, self.decode_all([[token] for token in missing]), strict=True))
        return [self._pieces[token] for token in ids]

    def stop_id(self, text: str) -> int:
        """The one token that a text is. UsageError where it is none or several."""
        ids = self.encode(text)
        if len(ids) != 1:
            raise UsageError(f"policy.stop: {text!r} is {len(ids)} tokens of this tokenizer; give texts that are one")
        return ids[0]


def _undated(template: str) -> str:
    """The template with the date of today, where it asks for it, made one that stays."""
    return re.sub(r"""strftime_now\(\s*(["'])(.*?)\1\s*\)""", lambda call: repr(TODAY.strftime(call[2])), template)
