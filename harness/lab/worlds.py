"""Small worlds in which everything can be counted: every completion of every prompt, its reward and its probability.

A world has B prompts, each with the same C completions of at most T tokens over V tokens. The policy is a table of
logits [B, S, V]: S contexts (prefixes), a softmax in each. So the expected reward and its gradient are exact sums.

- `bandit`: one token out of six, a softmax bandit per prompt; reward is correct or not.
- `language`: tokens `.`, `a`, `b`; a completion ends with `.` or is cut after three tokens, so that lengths differ.
  Reward columns: correct (weight 1), format (0.2), brevity (0.1).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping

import torch
from torch import Tensor

from harness.errors import UsageError, nearest

__all__ = ["DIFFICULTIES", "WORLDS", "World", "make_world"]

DIFFICULTIES: Mapping[str, tuple[float, ...]] = {
    "mixed": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9),
    "hard": (0.05, 0.08, 0.1, 0.1, 0.12, 0.15, 0.15, 0.2),
    "even": (0.4, 0.45, 0.45, 0.5, 0.5, 0.55, 0.55, 0.6),
    "easy": (0.8, 0.85, 0.85, 0.88, 0.9, 0.9, 0.92, 0.95),
}
ARMS = 6
LONGEST = 3


@dataclasses.dataclass(frozen=True, eq=False)
class World:
    """Prompts with enumerated completions. Everything is float64.

    logits [B, S, V]; tokens, contexts, mask [C, T]: the tokens of every completion, the context that each is drawn
    in, and 1 where there is one; truncated [C]; rewards [B, C, K] with `weights` [K]; correct [B, C].
    """

    name: str
    logits: Tensor
    tokens: Tensor
    contexts: Tensor
    mask: Tensor
    truncated: Tensor
    rewards: Tensor
    names: tuple[str, ...]
    weights: Tensor
    correct: Tensor

    @property
    def reward(self) -> Tensor:
        """[B, C] what a completion is worth."""
        return self.rewards @ self.weights

    def token_logp(self, logits: Tensor) -> Tensor:
        """[..., C, T] log-probability of every token of every completion under logits [..., S, V]; 0 where masked."""
        table = torch.log_softmax(logits, -1)
        return table[..., self.contexts, self.tokens] * self.mask

    def probabilities(self, logits: Tensor) -> Tensor:
        """[..., C] of every completion; they sum to 1."""
        return self.token_logp(logits).sum(-1).exp()

    def value(self, logits: Tensor) -> Tensor:
        """[..., B] expected reward of every prompt."""
        return (self.probabilities(logits) * self.reward).sum(-1)

    def gradient(self, logits: Tensor) -> Tensor:
        """[B, S, V] exact gradient of the mean expected reward."""
        leaf = logits.clone().requires_grad_()
        return torch.autograd.grad(self.value(leaf).mean(), leaf)[0]

    def advantage(self, logits: Tensor) -> Tensor:
        """[B, C] true advantage of every completion: its reward less the expected one."""
        return self.reward - self.value(logits)[:, None]


def make_world(name: str, difficulty: str = "mixed", seed: int = 0) -> World:
    """The world of a name, its prompts with the pass rates of a name. Raises UsageError for unknown ones."""
    if name not in WORLDS:
        raise UsageError(f"no world {name!r}.{nearest(name, WORLDS)}")
    if difficulty not in DIFFICULTIES:
        raise UsageError(f"no pass rates {difficulty!r}.{nearest(difficulty, DIFFICULTIES)}")
    generator = torch.Generator().manual_seed(seed)
    return WORLDS[name](torch.tensor(DIFFICULTIES[difficulty], dtype=torch.float64), generator)


def _bandit(rates: Tensor, generator: torch.Generator) -> World:
    """Two of six arms are right."""
    logits = torch.randn(len(rates), 1, ARMS, dtype=torch.float64, generator=generator)
    correct = torch.rand(len(rates), ARMS, generator=generator).argsort(-1) < 2
    shape = dict.fromkeys(("tokens", "contexts"), torch.zeros(ARMS, 1, dtype=torch.long))
    shape["tokens"] = torch.arange(ARMS)[:, None]
    world = World(
        name="bandit", logits=logits, **shape, mask=torch.ones(ARMS, 1, dtype=torch.float64),
        truncated=torch.zeros(ARMS, dtype=torch.bool), rewards=correct[..., None].double(), names=("correct",),
        weights=torch.ones(1, dtype=torch.float64), correct=correct,
    )  # fmt: skip
    # The log-odds of the right arms are moved to where the pass rate is as asked.
    now = (world.probabilities(logits) * correct).sum(-1)
    shift = torch.logit(rates) - torch.logit(now)
    return dataclasses.replace(world, logits=logits + shift[:, None, None] * correct[:, None, :])


def _language(rates: Tensor, generator: torch.Generator) -> World:
    """Completions of up to three tokens; right ones are drawn until their probability is near the pass rate."""
    prefixes = [p for n in range(LONGEST) for p in itertools.product((1, 2), repeat=n)]
    place = {prefix: i for i, prefix in enumerate(prefixes)}
    texts = [(*prefix, 0) for prefix in prefixes] + list(itertools.product((1, 2), repeat=LONGEST))
    tokens = torch.zeros(len(texts), LONGEST, dtype=torch.long)
    contexts, mask = tokens.clone(), torch.zeros(len(texts), LONGEST, dtype=torch.float64)
    for i, text in enumerate(texts):
        tokens[i, : len(text)] = torch.tensor(text)
        contexts[i, : len(text)] = torch.tensor([place[text[:t]] for t in range(len(text))])
        mask[i, : len(text)] = 1
    truncated = torch.tensor([text[-1] != 0 for text in texts])
    logits = 0.5 * torch.randn(len(rates), len(prefixes), 3, dtype=torch.float64, generator=generator)
    table = torch.log_softmax(logits, -1)
    chances = (table[:, contexts, tokens] * mask).sum(-1).exp()
    correct = _near(chances, rates, generator)
    correct_and_done = correct.double()
    format_ = (torch.rand(correct.shape, generator=generator) < 0.5).double() * ~truncated
    brevity = (1 - (mask.sum(-1) - 1) / LONGEST).expand_as(correct)
    return World(
        name="language", logits=logits, tokens=tokens, contexts=contexts, mask=mask, truncated=truncated,
        rewards=torch.stack([correct_and_done, format_, brevity], -1), names=("correct", "format", "brevity"),
        weights=torch.tensor([1.0, 0.2, 0.1], dtype=torch.float64), correct=correct,
    )  # fmt: skip


def _near(chances: Tensor, rates: Tensor, generator: torch.Generator, tries: int = 4096) -> Tensor:
    """[B, C] sets of completions, of random sets those whose probability is nearest to the rates."""
    sets = torch.rand(tries, *chances.shape, generator=generator) < torch.rand(tries, 1, 1, generator=generator)
    miss = ((sets * chances).sum(-1) - rates).abs()
    return sets[miss.argmin(0), torch.arange(len(rates))]


WORLDS = {"bandit": _bandit, "language": _language}
