"""Whether every prompt and its completion fit into the model's context, before anything runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.suites.schema import Suite
    from harness.tasks.base import Split, Task

__all__ = ["check_room", "context_of"]

NAMES = ("max_position_embeddings", "n_positions")  # what configurations call it
TEMPLATE = 128  # tokens that a chat template is taken to add at most, where no tokenizer is asked


class _Room(NamedTuple):
    """The tokens that fit, what says so, and how to have more."""

    tokens: int
    name: str
    more: str


class _Asked(NamedTuple):
    """A split, the tokens that a completion of its prompts may take, and the setting that says so."""

    split: Split
    most: int
    setting: str


def check_room(suite: Suite, tasks: Sequence[Task]) -> None:
    """Raise UsageError, in one line, where the longest prompt of a task leaves too little room for its completion.

    Prompts to train on take `sampling.max_tokens`, those to be evaluated on `evaluation.max_tokens`. Bytes bound
    tokens: the tokenizer is asked only for prompts that may be too long by them. What a stack adds to a prompt is not
    known here: a trial that meets such a prompt ends with a line of its own.
    """
    room = _room(suite)
    if room is None:
        return
    for task in tasks:
        for asked in _asked(suite):
            limit = None if asked.split == "train" else suite.evaluation.problems
            texts = [problem.prompt for problem in task.problems(asked.split, limit)]
            lengths = _lengths(suite, texts, room.tokens - asked.most)
            if lengths and max(lengths) + asked.most > room.tokens:
                raise UsageError(f"suite {suite.name}: task {task.name!r}: {_said(asked, lengths, room)}")


def context_of(path: Path) -> int | None:
    """The most tokens that the model in a directory was made for; None where its configuration does not say."""
    file = path / "config.json"
    config = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    known = config | config.get("text_config", {})
    return next((int(known[name]) for name in NAMES if known.get(name) is not None), None)


def _room(suite: Suite) -> _Room | None:
    """None where nothing says how many tokens fit."""
    from harness.policies.load import base_of
    from harness.policies.registry import resolve

    policy = suite.policy
    path = resolve(policy.model, policy.revision)
    below = base_of(path)
    found = context_of(path if below is None else resolve(*below))
    engine = suite.sampler.vllm.context if suite.sampler.engine == "vllm" else None
    if engine is not None and (found is None or engine < found):
        return _Room(engine, "sampler.vllm.context", "raise that")
    return None if found is None else _Room(found, f"the context of {policy.model}", "take a model of a longer one")


def _asked(suite: Suite) -> tuple[_Asked, _Asked]:
    own, sampled = suite.evaluation.max_tokens, _Asked("train", suite.sampling.max_tokens, "sampling.max_tokens")
    tested = sampled._replace(split=suite.evaluation.split)
    return sampled, tested if own is None else tested._replace(most=own, setting="evaluation.max_tokens")


def _lengths(suite: Suite, texts: Sequence[str], room: int) -> list[int]:
    """Tokens of those prompts that may have more than `room`, template and system's words included."""
    policy = suite.policy
    extra = TEMPLATE + len((policy.system or "").encode())
    long = [text for text in texts if len(text.encode()) + extra > room]
    if not long:
        return []
    from harness.policies.load import load_tokenizer
    from harness.policies.text import Text

    spoken = Text(load_tokenizer(policy.model, policy.revision), chat=policy.chat, options=policy.chat_options)
    return [len(spoken.prompt(text, policy.system)) for text in long]


def _said(asked: _Asked, lengths: Sequence[int], room: _Room) -> str:
    """How long the longest prompt is, what fits, how many do not, what to set."""
    longest, over = max(lengths), sum(length + asked.most > room.tokens for length in lengths)
    left = room.tokens - longest
    ways = f"set {asked.setting} to {left} at most" if left > 0 else "leave long rows out"
    return (
        f"its longest {asked.split} prompt has {longest} tokens, with {asked.setting}={asked.most} that is "
        f"{longest + asked.most}, and {room.name} is {room.tokens} ({over} of its {asked.split} prompts do not fit); "
        f"{ways}, or {room.more}"
    )
