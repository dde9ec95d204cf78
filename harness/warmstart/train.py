"""Supervised warm-up: a small Llama learns the mixture of behaviours, and stops early."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from harness.policies.policy import Policy
from harness.policies.random import llama_policy
from harness.warmstart.behaviours import CODE_SHARES, MATH_SHARES, Example, Examples

__all__ = ["CHARACTERS", "Recipe", "save", "warm_up"]

CHARACTERS = "".join(map(chr, range(32, 127)))  # printable ASCII: room for whatever a user wants to teach it
IGNORED = -100  # the label that cross_entropy leaves out
FLOOR = 0.1  # of the learning rate, at the end of the schedule
RAMP = 50  # steps to full learning rate


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Everything that decides the embedded checkpoint. The number of steps was chosen on validation problems."""

    seed: int = 0
    steps: int = 1200
    batch: int = 128
    lr: float = 2e-3
    layers: int = 4
    width: int = 128
    intermediate: int = 384
    heads: int = 4
    math_shares: Mapping[str, float] = dataclasses.field(default_factory=lambda: dict(MATH_SHARES))
    code_shares: Mapping[str, float] = dataclasses.field(default_factory=lambda: dict(CODE_SHARES))


def warm_up(recipe: Recipe, progress: Callable[[int, float], None] = lambda _step, _loss: None) -> Policy:
    """The warmed-up policy in float32: a pure function of the recipe on one machine with one thread.

    `progress(step, loss)` is called after every step. AdamW on the mean loss of completion tokens, a ramp of 50 steps,
    then a cosine down to a tenth.
    """
    policy = llama_policy(
        layers=recipe.layers, width=recipe.width, heads=recipe.heads, intermediate=recipe.intermediate,
        characters=CHARACTERS, seed=recipe.seed,
    )  # fmt: skip
    model = policy.model.train()
    examples = Examples(recipe.seed, recipe.math_shares, recipe.code_shares)
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.lr, betas=(0.9, 0.95), weight_decay=0.01)
    for step in range(recipe.steps):
        cosine = 0.5 * (1 + math.cos(math.pi * step / recipe.steps))
        optimizer.param_groups[0]["lr"] = recipe.lr * min(1, (step + 1) / RAMP) * (FLOOR + (1 - FLOOR) * cosine)
        loss = imitation_loss(policy, examples.take(recipe.batch))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        progress(step + 1, float(loss.detach()))
    model.eval()
    return policy


def imitation_loss(policy: Policy, examples: Sequence[Example]) -> Tensor:
    """Mean negative log-likelihood of the completion tokens, end token included; a pass per task, which pads less."""
    total, count = torch.zeros(()), 0
    for task in dict.fromkeys(example.task for example in examples):
        ids, labels = _encode(policy, [example for example in examples if example.task == task])
        wanted = labels[:, 1:] != IGNORED
        hidden = policy.model.model(input_ids=ids).last_hidden_state[:, :-1][wanted]
        logits = policy.model.lm_head(hidden).float()
        total = total + torch.nn.functional.cross_entropy(logits, labels[:, 1:][wanted], reduction="sum")
        count += int(wanted.sum())
    return total / max(count, 1)


def _encode(policy: Policy, examples: Sequence[Example]) -> tuple[Tensor, Tensor]:
    """Right-padded ids [N, L] and labels [N, L] that name completion tokens only."""
    rows: list[tuple[list[int], list[int]]] = []
    for example in examples:
        prompt = policy.encode_prompt(example.prompt)
        completion = [*policy.encode(example.completion), policy.stop_ids[0]]
        rows.append((prompt + completion, [IGNORED] * len(prompt) + completion))
    width = max(len(ids) for ids, _ in rows)
    ids = torch.tensor([row + [policy.pad_id] * (width - len(row)) for row, _ in rows])
    return ids, torch.tensor([row + [IGNORED] * (width - len(row)) for _, row in rows])


def save(policy: Policy, directory: Path) -> None:
    """Write config, tokenizer and float16 weights, which keep three more bits than bfloat16 would."""
    model: Any = policy.clone().model.to(torch.float16)
    model.save_pretrained(directory)
    policy.tokenizer.save_pretrained(directory)
