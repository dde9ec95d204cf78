"""What several claims measure with: exact expectations over small groups, gradients along a ratio, the gradient lab."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from harness.probe import advantages, objective, token_loss

__all__ = [
    "Array", "all_groups", "best_of", "cosine", "expected_ascent", "in_the_lab", "logit_ascent", "of_value",
    "relative_error", "repeated", "slopes", "softmax",
]  # fmt: skip

Array = np.ndarray[Any, np.dtype[np.float64]]


def softmax(logits: Any) -> Array:
    """Along the last axis."""
    raised = np.exp(logits - np.max(logits, -1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def cosine(a: Any, b: Any) -> float:
    """Of two arrays of one shape; 0 where one is empty."""
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.sum(np.multiply(a, b)) / lengths) if lengths else 0.0


def relative_error(found: Any, true: Any) -> float:
    """|found - true| / |true|."""
    return float(np.linalg.norm(np.subtract(found, true)) / np.linalg.norm(true))


def all_groups(arms: int, size: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """[arms^size, size] every group of completions that can be drawn."""
    return np.array(list(itertools.product(range(arms), repeat=size)))


def expected_ascent(
    method: str, chances: Any, rewards: Any, size: int, *, one_by_one: bool = False, **by_arm: Any
) -> tuple[Array, float]:
    """(the mean over all groups of a method's policy gradient with respect to the logits [K], its variance).

    chances, rewards: [K] of the completions (one token each) of one prompt; `by_arm` names batch fields [K]. The
    gradient of a group is the mean over its completions of advantage times score. one_by_one: every group is a batch
    of its own, for methods that look beyond the group.
    """
    chances, rewards = np.asarray(chances), np.asarray(rewards, dtype=float)
    drawn = all_groups(len(chances), size)
    keys = np.repeat(np.arange(len(drawn)), size)
    fields: dict[str, Any] = {name: np.asarray(values)[drawn.ravel()] for name, values in by_arm.items()}
    if one_by_one:
        found = np.stack([advantages(method, rewards[group], keys[:size]) for group in drawn])
    else:
        found = advantages(method, rewards[drawn.ravel()], keys, **fields).reshape(len(drawn), size, -1)[..., 0]
    scores = np.eye(len(chances))[drawn] - chances
    ascent = (found[..., None] * scores).mean(1)
    weight = chances[drawn].prod(1)
    mean = weight @ ascent
    return mean, float(weight @ (ascent**2).sum(1) - mean @ mean)


def of_value(chances: Any, size: int, value: Callable[[Any], Any]) -> Array:
    """[K] exact gradient with respect to the logits of the mean of `value` [M] over groups [M, size] of arms."""
    chances = np.asarray(chances)
    drawn = all_groups(len(chances), size)
    scores = (np.eye(len(chances))[drawn] - chances).sum(1)
    return np.asarray((chances[drawn].prod(1) * np.asarray(value(drawn))) @ scores)


def best_of(chances: Any, rewards: Any, size: int) -> Array:
    """[K] exact gradient of the expected best reward of `size` completions."""
    return of_value(chances, size, lambda drawn: np.asarray(rewards, dtype=float)[drawn].max(1))


def slopes(method: str, log_ratio: Any, advantage: float, old: float = -3.0, **fields: Any) -> Array:
    """[M] how hard a token is pushed up, at log-ratios [M]: minus the gradient of its loss. A row and group a token."""
    moved = np.atleast_1d(np.asarray(log_ratio, dtype=float))[:, None]
    start = np.zeros_like(moved) + np.asarray(old, dtype=float).reshape(-1, 1)
    given: dict[str, Any] = {
        "group": np.arange(len(moved)),
        "advantages": [advantage] * len(moved),
        "mask": np.ones_like(moved),
    }
    _, gradient = token_loss(method, logp=start + moved, logp_old=start, **{**given, **fields})
    return 0.0 - gradient[:, 0]


def logit_ascent(by_logp: Any, arms: Any, chances: Any) -> Array:
    """[K] what gradients [N] of the log-probabilities of arms [N] do to the logits."""
    by_logp, chances = np.asarray(by_logp).ravel(), np.asarray(chances)
    return np.asarray(by_logp @ (np.eye(len(chances))[np.asarray(arms)] - chances))


def repeated(method: str, logits: Any, arms: Any, steps: int, rate: float, **fields: Any) -> Array:
    """[steps + 1, K] logits while a batch of one prompt (arms [N], one token each) is trained on again and again."""
    old = np.log(softmax(logits))
    start = old[np.asarray(arms)][:, None]
    path = [np.asarray(logits, dtype=float)]
    given: dict[str, Any] = {
        "mask": np.ones_like(start),
        "logp_old": start,
        "group": np.zeros(len(start), dtype=int),
        **fields,
    }
    for _ in range(steps):
        chances = softmax(path[-1])
        _, gradient = objective(method, logp=np.log(chances)[np.asarray(arms)][:, None], **given)
        path.append(path[-1] - rate * logit_ascent(gradient, arms, chances))
    return np.array(path)


@functools.cache
def in_the_lab(
    method: str, world: str = "language", batches: int = 200, *, noise: float = 0.0, stale: float = 0.0
) -> dict[str, float]:  # fmt: skip
    """Bias, noise and step of a method's gradient in the gradient lab's world; see docs/lab.md."""
    from harness.host import build_stack, discover
    from harness.lab import measures
    from harness.lab.draw import Setting, Simulation
    from harness.lab.estimate import estimate
    from harness.lab.worlds import make_world

    place = make_world(world)
    drawn = Simulation(place, Setting(noise=noise, stale=stale), batches)
    found = estimate(build_stack(method, discover()), drawn)
    ascent, exact = found.ascent.flatten(1), place.gradient(place.logits).flatten()
    return {
        "bias": measures.bias(ascent, exact),
        "noise": measures.noise(ascent),
        "step": measures.cosine_of_batches(ascent, exact),
    }
