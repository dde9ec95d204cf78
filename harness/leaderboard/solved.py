"""Item by item: which problems one method newly solves, and which it newly fails, by their greedy answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.leaderboard.model import UNTRAINED, Board
from harness.leaderboard.trials import Trial, read_lines

__all__ = ["Example", "Items", "Problems", "items"]

SHOWN = 2  # examples of items solved, and as many of items lost
LAST, FIRST = "items.jsonl", "untrained.jsonl"

Key = tuple[str, str]  # task, key of the problem
Said = dict[Key, dict[str, Any]]
Pairs = Mapping[int, tuple[Said, Said]]  # seed -> what both said
Problems = Callable[[str, str], Mapping[str, str] | None]  # (task, key) -> prompt and gold, where they can be read


@dataclass(frozen=True)
class Example:
    """One problem that one of the two solves and the other does not, with what both said under the same seed."""

    task: str
    key: str
    seed: int
    first: str | None  # greedy answers; None where the trial kept none
    second: str | None
    prompt: str | None
    gold: str | None
    seeds: int  # in which it went so


@dataclass(frozen=True)
class Items:
    """Means over seeds of items that only one of the two solves, over all and by task, and examples of both kinds."""

    seeds: int
    asked: float  # problems that both were asked
    solved: float
    lost: float
    tasks: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    newly_solved: tuple[Example, ...] = ()
    newly_lost: tuple[Example, ...] = ()

    @property
    def texts_missing(self) -> bool:
        """Whether an example has no answer to show: its trial is older than the keeping of answers."""
        return any(None in (example.first, example.second) for example in (*self.newly_solved, *self.newly_lost))


def items(board: Board, first: str, second: str, problems: Problems = lambda _task, _key: None) -> Items | None:
    """Compare the greedy answers of two methods, or of one and the untrained policy; None where no seed has both."""
    both = {seed: (said(board, first, seed), said(board, second, seed)) for seed in board.matrix.seeds}
    pairs = {seed: (one, two) for seed, (one, two) in both.items() if one and two}
    if not pairs:
        return None
    gained, lost = changes(pairs, 1), changes(pairs, -1)
    tasks = dict.fromkeys(task for one, _ in pairs.values() for task, _ in one)
    number = len(pairs)
    return Items(
        seeds=number,
        asked=sum(len(one.keys() & two.keys()) for one, two in pairs.values()) / number,
        solved=sum(map(len, gained.values())) / number,
        lost=sum(map(len, lost.values())) / number,
        tasks={task: (of_task(gained, task) / number, of_task(lost, task) / number) for task in tasks},
        newly_solved=examples(pairs, gained, lost, problems),
        newly_lost=examples(pairs, lost, gained, problems),
    )


def said(board: Board, method: str, seed: int) -> Said:
    """(task, key) -> the item of a method's last evaluation, or of the untrained policy; {} where none was kept.

    The untrained policy is the same for every method: the first trial of the seed that kept its answers tells.
    """
    trials = board.matrix.trials
    if method != UNTRAINED:
        trial = trials.get((method, seed))
        return of_trial(trial) if trial is not None and trial.ended else {}
    paths = [trials[name, seed].path / FIRST for name in board.matrix.methods if (name, seed) in trials]
    return next((found for path in paths if (found := read_items(path))), {})


def of_trial(trial: Trial) -> Said:
    """The items of a trial's last evaluation; an exported one has verdicts but no texts."""
    if not trial.told:
        return read_items(trial.path / LAST)
    return {
        (task, key): {"greedy": right}
        for task, found in trial.answers.items()
        for key, right in zip(found.keys, found.greedy.tolist(), strict=True)
    }


def read_items(path: Path) -> Said:
    """The items of a file by task and key."""
    return {(str(item.get("task")), str(item.get("key"))): item for item in read_lines(path)}


def changes(pairs: Pairs, sign: int) -> dict[int, list[Key]]:
    """Per seed the items that only the first solves (sign 1), or only the second (-1)."""
    return {
        seed: [key for key in one if key in two and right(one[key]) - right(two[key]) == sign]
        for seed, (one, two) in pairs.items()
    }


def right(item: Mapping[str, Any]) -> int:
    """1 where the greedy answer was right, else 0."""
    return int(bool(item.get("greedy")))


def of_task(found: Mapping[int, Sequence[Key]], task: str) -> int:
    """How many of the items are a task's."""
    return sum(name == task for keys in found.values() for name, _ in keys)


def examples(
    pairs: Pairs,
    found: Mapping[int, Sequence[Key]],
    against: Mapping[int, Sequence[Key]],
    problems: Problems,
) -> tuple[Example, ...]:
    """The items that went so in most seeds, less those in which it was the other way; a task each while tasks last."""
    times = Counter(key for keys in found.values() for key in keys)
    other = Counter(key for keys in against.values() for key in keys)
    ranked = sorted(times, key=lambda key: (other[key] - times[key], key))
    heads = {key[0]: key for key in reversed(ranked)}.values()  # the first of every task
    chosen = [key for key in ranked if key in heads][:SHOWN]
    chosen += [key for key in ranked if key not in chosen][: SHOWN - len(chosen)]
    return tuple(example(pairs, found, key, times[key], problems) for key in chosen)


def example(pairs: Pairs, found: Mapping[int, Sequence[Key]], key: Key, seeds: int, problems: Problems) -> Example:
    """One of them, as the first seed in which it went so tells it."""
    seed = next(seed for seed, keys in found.items() if key in keys)
    one, two = (item[key].get("text") for item in pairs[seed])
    asked = problems(*key) or {}
    return Example(*key, seed, one, two, asked.get("prompt"), asked.get("gold"), seeds)
