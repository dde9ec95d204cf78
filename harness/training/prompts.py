"""The longest prompt that a trial may meet, without loading anything heavy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness.policies.registry import resolve

if TYPE_CHECKING:
    from harness.training.config import TrialConfig

__all__ = ["longest_prompt", "longest_texts"]

TRIED = 64  # of the longest texts: the longest in tokens is nearly always among them
TEMPLATE = 64  # tokens that a chat template is taken to add


def longest_texts(config: TrialConfig) -> list[str]:
    """The longest prompts to train and to be evaluated on, in characters."""
    from harness.tasks.load import load_task

    texts: set[str] = set()
    for share in config.tasks:
        task = load_task(share.task, share.options)
        for split in ("train", config.evaluation.split):
            texts.update(problem.prompt for problem in task.problems(split))
    return sorted(texts, key=len, reverse=True)[:TRIED]


def longest_prompt(config: TrialConfig) -> int:
    """Tokens of the longest prompt, about: the template is guessed, and without tokenizer.json bytes are counted."""
    policy = config.policy
    path = resolve(policy.model, policy.revision)
    file, texts = path / "tokenizer.json", longest_texts(config)
    extra = TEMPLATE if policy.chat or (policy.chat is None and _has_template(path)) else 1
    system = policy.system or ""
    if not file.is_file():
        return max((len(text.encode()) for text in texts), default=1) + len(system.encode()) + extra
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(file))
    return (
        max((len(tokenizer.encode(text).ids) for text in texts), default=1) + len(tokenizer.encode(system).ids) + extra
    )


def _has_template(path: Path) -> bool:
    """Whether a tokenizer comes with a chat template, in a file of its own or in its settings."""
    settings = path / "tokenizer_config.json"
    return any(path.glob("chat_template*")) or (settings.is_file() and '"chat_template"' in settings.read_text("utf-8"))
