"""Which problem stands in which split: each once, and none in two, told apart by a hash of its normalised prompt.

The rule. Within a split the first of equal prompts stays. A prompt that stands in several splits stays in the last of
train, validation, test only, so nothing that is tested is trained on. Where the data have no validation or no test
split of their own, it is cut out of train by the hash. All that is removed is counted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from harness.tasks.base import SPLITS, Problem, Split, hash_split, stable_hash
from harness.tasks.fields import normalized

__all__ = ["Counts", "asked_by", "codes", "place", "shared"]

LEAST = (
    24  # characters of a question that is none other's; shorter ones, "Solve for x.", may stand before many formulas
)


@dataclasses.dataclass
class Counts:
    """What became of the rows of a data set."""

    rows: int = 0
    unreadable: int = 0  # the known answer cannot be read, or the known solution fails its own tests
    left_out: int = 0  # by `keep`
    duplicates: int = 0  # within a split
    overlap: int = 0  # in a later split too

    def told(self) -> str:
        """The counts that are not 0, in words; empty if every row is a problem."""
        said = {
            "have no answer that can be checked": self.unreadable, "left out by keep": self.left_out,
            "are duplicates": self.duplicates, "stand in a later split too": self.overlap,
        }  # fmt: skip
        parts = [f"{count} {what}" for what, count in said.items() if count]
        return f"of {self.rows} rows {', '.join(parts)}" if parts else ""


def place(found: Mapping[Split, Sequence[Problem]], counts: Counts) -> dict[Split, tuple[Problem, ...]]:
    """The problems of every split, in the order of the data, after the rule; `counts` gets what was removed."""
    claimed: dict[int, Split] = {}
    placed: dict[Split, list[Problem]] = {split: [] for split in SPLITS}
    for split in reversed(SPLITS):
        for problem in found.get(split, ()):
            canonical = normalized(problem.prompt)
            code = stable_hash(canonical)
            if code in claimed:
                counts.duplicates += claimed[code] == split
                counts.overlap += claimed[code] != split
                continue
            claimed[code] = split
            own = hash_split(canonical) if split == "train" else split
            placed[split if own in found else own].append(problem)
    return {split: tuple(problems) for split, problems in placed.items()}


def codes(text: str) -> tuple[int, ...]:
    """The hash of a normalised text by which questions are told apart; none for one that is too short for it."""
    canonical = normalized(text)
    return (stable_hash(canonical),) if len(canonical) >= LEAST else ()


def asked_by(problem: Problem) -> tuple[int, ...]:
    """The codes by which a problem is known in other tasks: of its prompt, and of the question in it."""
    question = problem.data.get("question")
    own = stable_hash(normalized(problem.prompt))
    return (own, *codes(question)) if isinstance(question, str) else (own,)


def shared(splits: Mapping[Split, Sequence[Problem]], *, questions: bool = False) -> dict[str, int]:
    """How many problems each two splits share, as `train/test: 3`; empty when the splits are disjoint.

    Told apart by their prompts, and with `questions` by the questions in those as well: two tasks may put other words
    round one question.
    """
    known = {
        split: [asked_by(p) if questions else asked_by(p)[:1] for p in problems] for split, problems in splits.items()
    }
    found: dict[str, int] = {}
    for i, first in enumerate(SPLITS):
        there = {code for one in known.get(first, ()) for code in one}
        for second in SPLITS[i + 1 :]:
            both = len({one[0] for one in known.get(second, ()) if not there.isdisjoint(one)})
            found |= {f"{first}/{second}": both} if both else {}
    return found
