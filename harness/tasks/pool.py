"""Which prompts a step sees: slice s of a seeded permutation, the same for every method."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np

from harness.errors import UsageError, nearest
from harness.tasks.base import Problem, stable_hash

__all__ = ["PromptPool"]

_PATTERN = 4096  # slots after which the interleaving of the tasks repeats


def _noise(key: int, count: int) -> np.ndarray:
    """uint64 [count]: the SplitMix64 outputs of counters 0 to count-1 under a 64-bit key (Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        z = np.uint64(key & (2**64 - 1)) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


class PromptPool:
    """The training prompts of a task mixture in the order of one seed.

    Slots are dealt to the tasks by their shares, evenly; within a task a new permutation begins when the last one is
    used up. Everything is a pure function of (seed, step), so a resumed trial sees what it would have seen.
    """

    def __init__(self, problems: Mapping[str, Sequence[Problem]], shares: Mapping[str, float], seed: int) -> None:
        """`problems` and `shares` by task name; shares are relative. Raises UsageError for a task without problems."""
        for task, found in problems.items():
            if not found:
                raise UsageError(f"task {task!r} has no training problems; give it at least one")
        self.seed = seed
        self._tasks = tuple(problems)
        self._keys = tuple(tuple(problem.key for problem in problems[task]) for task in self._tasks)
        self._problems = {problem.key: problem for task in self._tasks for problem in problems[task]}
        weights = np.array([shares[task] for task in self._tasks], dtype=np.float64)
        self._pattern, self._before = _interleave(weights / weights.sum())
        self._permutation = functools.lru_cache(maxsize=4 * len(self._tasks))(self._permute)

    @property
    def keys(self) -> tuple[str, ...]:
        """Every prompt key, task by task."""
        return tuple(key for keys in self._keys for key in keys)

    def __len__(self) -> int:
        return len(self._problems)

    def problem(self, key: str) -> Problem:
        """The problem of a key; UsageError if the pool has no such key."""
        try:
            return self._problems[key]
        except KeyError:
            raise UsageError(f"no prompt {key!r} in the pool.{nearest(key, list(self._problems)[:2000])}") from None

    def at_step(self, step: int, count: int) -> list[str]:
        """Slice `step` of the shuffled epochs: `count` keys. Distinct unless an epoch ends within the slice."""
        return [self._at(slot) for slot in range(step * count, (step + 1) * count)]

    def draw(self, count: int, stream: str, step: int) -> list[str]:
        """`count` keys for a later round, from a stream of their own: distinct as long as each task has enough."""
        slots = [int(self._pattern[(step * count + i) % _PATTERN]) for i in range(count)]
        orders = {k: self._order(k, f"draw/{stream}/{step}") for k in set(slots)}
        used = dict.fromkeys(orders, 0)
        found = []
        for k in slots:
            found.append(self._keys[k][orders[k][used[k] % len(orders[k])]])
            used[k] += 1
        return found

    def _at(self, slot: int) -> str:
        periods, place = divmod(slot, _PATTERN)
        k = int(self._pattern[place])
        turn = periods * int(self._before[-1, k]) + int(self._before[place, k])
        epoch, index = divmod(turn, len(self._keys[k]))
        return self._keys[k][self._permutation(k, epoch)[index]]

    def _permute(self, k: int, epoch: int) -> np.ndarray:
        return self._order(k, f"epoch/{epoch}")

    def _order(self, k: int, stream: str) -> np.ndarray:
        """A permutation of the keys of task k, by sorting keyed noise."""
        key = stable_hash(f"{self.seed}/{self._tasks[k]}/{stream}")
        return np.argsort(_noise(key, len(self._keys[k])), kind="stable")


def _interleave(shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which task each slot of a period goes to [P], and how many each task had before it [P + 1, K].

    A slot goes to the task that is furthest behind its share, so every window holds the shares to within one prompt.
    """
    pattern = np.zeros(_PATTERN, dtype=np.int64)
    before = np.zeros((_PATTERN + 1, len(shares)), dtype=np.int64)
    for place in range(_PATTERN):
        k = int(np.argmax(shares * (place + 1) - before[place]))
        pattern[place] = k
        before[place + 1] = before[place]
        before[place + 1, k] += 1
    return pattern, before
