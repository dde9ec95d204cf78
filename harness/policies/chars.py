"""A character tokenizer: one token per character, exact round trips, loadable by any transformers program."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["SPECIAL", "char_tokenizer"]

SPECIAL = ("<pad>", "<bos>", "<eos>", "<unk>")


def char_tokenizer(characters: Iterable[str], *, bos: bool = True) -> Any:
    """A `PreTrainedTokenizerFast` whose ids are 0-3 for `SPECIAL` and then one per character, in the order given.

    Text is split into single characters and decoding joins them without spaces, so `decode(encode(text)) == text` for
    every text over `characters`; others become <unk>. Prompts are padded left. `bos=False`: no <bos> before a prompt.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocab = {token: index for index, token in enumerate((*SPECIAL, *dict.fromkeys(characters)))}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))  # noqa: S106 - a vocabulary entry
    core.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    core.decoder = decoders.Fuse()
    if bos:
        core.post_processor = processors.TemplateProcessing(
            single="<bos> $A", special_tokens=[("<bos>", vocab["<bos>"])]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",  # noqa: S106
        bos_token="<bos>",  # noqa: S106
        eos_token="<eos>",  # noqa: S106
        unk_token="<unk>",  # noqa: S106
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
