"""Supervised warm-up: a small Llama learns the mixture of behaviours, and stops early."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from harness.policies.policy import Policy
from harness.policies.random import llama_policy
from harness.warmstart.behaviours import MIXTURE, SKILLS, Example, Examples

__all__ = ["CHARACTERS", "Recipe", "WarmUp", "imitation_loss", "save"]

CHARACTERS = "".join(map(chr, range(32, 127)))  # printable ASCII: room for whatever a user wants to teach it
IGNORED = -100  # the label that cross_entropy leaves out
FLOOR = 0.1  # of the learning rate, at the end of the schedule
RAMP = 50  # steps to full learning rate
PASSES = 4  # forward passes a step


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Everything that decides the embedded checkpoint. The number of steps was chosen on validation problems.

    The first part of the steps (`skill_part`) teaches the skills, with the better behaviours over-represented and none
    of the worse ones; the rest teaches the shares in which behaviours are to be found, while the rate falls to a tenth.
    """

    seed: int = 0
    steps: int = 2000
    skill_part: float = 0.7
    batch: int = 64
    lr: float = 2e-3
    layers: int = 4
    width: int = 128
    intermediate: int = 384
    heads: int = 4


class WarmUp:
    """A warm-up in progress: `policy` in float32 and the number of steps taken.

    A pure function of the recipe on one machine with one thread. The matrices learn by Muon (arXiv 2502.16982 for the
    scale of its steps), under which the loss fell faster here than under AdamW; embeddings and norms by AdamW.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.taken = 0
        self.policy = llama_policy(
            layers=recipe.layers, width=recipe.width, heads=recipe.heads, intermediate=recipe.intermediate,
            characters=CHARACTERS, seed=recipe.seed,
        )  # fmt: skip
        self._examples = Examples(recipe.seed)
        model = self.policy.model
        hidden = [p for name, p in model.named_parameters() if p.ndim == 2 and "layers" in name]
        others = [p for name, p in model.named_parameters() if p.ndim != 2 or "layers" not in name]
        self._optimizers = (
            torch.optim.Muon(hidden, lr=recipe.lr, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(others, lr=recipe.lr, betas=(0.9, 0.95), weight_decay=0.0),
        )

    def run(self, progress: Callable[[int, float], None] = lambda _step, _loss: None) -> Policy:
        """Take all steps; `progress(step, loss)` is called after every one."""
        self.policy.model.train()
        while self.taken < self.recipe.steps:
            loss = self._step()
            progress(self.taken, loss)
        self.policy.model.eval()
        return self.policy

    def _step(self) -> float:
        done = self.taken / self.recipe.steps
        skills = done < self.recipe.skill_part
        fall = 0.0 if skills else (done - self.recipe.skill_part) / (1 - self.recipe.skill_part)
        rate = self.recipe.lr * min(1, (self.taken + 1) / RAMP) * (1 - (1 - FLOOR) * fall)
        examples = self._examples.take(self.recipe.batch, SKILLS if skills else MIXTURE)
        loss = imitation_loss(self.policy, examples)
        self.policy.model.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.policy.model.parameters(), 1.0)
        for optimizer in self._optimizers:
            optimizer.param_groups[0]["lr"] = rate
            optimizer.step()
        self.taken += 1
        return float(loss.detach())


def imitation_loss(policy: Policy, examples: Sequence[Example]) -> Tensor:
    """Mean negative log-likelihood of the completion tokens, end token included.

    Passes of examples of similar length, because half of the tokens would be padding otherwise.
    """
    total, count = torch.zeros(()), 0
    ordered = sorted(examples, key=lambda example: len(example.prompt) + len(example.completion))
    size = -(-len(ordered) // PASSES)
    for start in range(0, len(ordered), size):
        ids, labels = _encode(policy, ordered[start : start + size])
        wanted = labels[:, 1:] != IGNORED
        hidden = policy.model.model(input_ids=ids).last_hidden_state[:, :-1][wanted]
        logits = policy.model.lm_head(hidden).float()
        total = total + torch.nn.functional.cross_entropy(logits, labels[:, 1:][wanted], reduction="sum")
        count += int(wanted.sum())
    return total / max(count, 1)


def _encode(policy: Policy, examples: Sequence[Example]) -> tuple[Tensor, Tensor]:
    """Right-padded ids [N, L] and labels [N, L] that name completion tokens only."""
    vocabulary: dict[str, int] = policy.tokenizer.get_vocab()
    first, last = policy.encode_prompt("")[:1], policy.stop_ids[0]
    rows: list[tuple[list[int], list[int]]] = []
    for example in examples:  # a token a character, so a look-up will do, and is ten times faster than the tokenizer
        prompt = first + [vocabulary[character] for character in example.prompt]
        completion = [vocabulary[character] for character in example.completion] + [last]
        rows.append((prompt + completion, [IGNORED] * len(prompt) + completion))
    width = max(len(ids) for ids, _ in rows)
    ids = torch.tensor([row + [policy.pad_id] * (width - len(row)) for row, _ in rows])
    return ids, torch.tensor([row + [IGNORED] * (width - len(row)) for _, row in rows])


def save(policy: Policy, directory: Path) -> None:
    """Write config, tokenizer and float16 weights, which keep three more bits than bfloat16 would.

    The tokenizer's class is named as every supported transformers knows it, and the files are readable by all: they
    end up in a wheel.
    """
    model: Any = policy.clone().model.to(torch.float16)
    model.save_pretrained(directory)
    policy.tokenizer.save_pretrained(directory)
    file = directory / "tokenizer_config.json"
    settings = json.loads(file.read_text())
    settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    for name in ("is_local", "local_files_only"):
        settings.pop(name, None)
    file.write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n")
    for path in directory.iterdir():
        path.chmod(0o644)
