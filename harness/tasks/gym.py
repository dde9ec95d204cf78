"""The generators of reasoning-gym, by name, with their own scorers: `{task: reasoning-gym, options: {name: lcm}}`."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from harness.errors import HarnessError, UsageError
from harness.tasks.answers import marked_answer, written_number
from harness.tasks.base import SPLITS, Columns, Problem, Split, Task, check_split, stable_hash
from harness.tasks.placing import Counts, place
from harness.tasks.worker import Worker

__all__ = ["ReasoningGymTask"]

INSTRUCTION = "Think briefly, then give the answer as <answer>...</answer>."
RIGHT = 0.99  # what a scorer gives a right answer; many give a little for junk
CHUNK, CHUNK_SECONDS = 50, 120.0  # problems drawn at a time, and how long that may take
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_TROUBLE = "reasoning-gym cannot start; check that it is installed (pip install 'policy-harness[reasoning-gym]')"


class ReasoningGymTask(Task):
    """Problems of one generator of reasoning-gym.

    `size` problems are drawn from one stream, seeded `seed`; equal ones are dropped, and the hash of the question says
    which split a problem is in (80, 10, 10 %), so no seed can move one across. `config` goes to the generator.
    Problems whose own answer its scorer does not take, or whose scorer takes junk, are left out and counted.

    Columns: `correct` (the scorer gives 0.99 or more), `score` (what the scorer gives) and `format` (the answer stands
    in its tags). The answer is what stands in the last tags, else behind #### or in a box, else what `unmarked` says:
    the whole text (`text`), or its last number (`number`, for generators whose answers are numbers and models too small
    to keep to a form). A truncated text has none of them.
    """

    name = "reasoning-gym"
    columns = ("correct", "score", "format")
    correct_column = "correct"
    answer_format = "format"

    def __init__(
        self,
        name: str,
        *,
        size: int = 2500,
        seed: int = 0,
        config: Mapping[str, Any] | None = None,
        instruction: str = INSTRUCTION,
        reward_weights: dict[str, float] | None = None,
        max_tokens: int = 256,
        score_seconds: float = 5.0,
        unmarked: Literal["text", "number"] = "text",
    ) -> None:
        if unmarked not in {"text", "number"}:
            raise UsageError(f"task reasoning-gym: unmarked is 'text' or 'number', got {unmarked!r}")
        self.unmarked = unmarked
        self.generator = name
        self.name = f"reasoning-gym:{name}"  # type: ignore[misc]
        self.size = size
        self.config = dict(config or {})
        self.instruction = instruction
        self.reward_weights = {"correct": 1.0, "score": 0.0, "format": 0.1} | (reward_weights or {})
        self.max_tokens = max_tokens
        self.counts = Counts()
        given = {"name": name, "seed": seed, "size": size, "config": self.config}
        self._worker = Worker("harness.tasks.gym_worker", score_seconds, _TROUBLE, [json.dumps(given)])
        self._problems: dict[Split, tuple[Problem, ...]] | None = None

    def problems(self, split: Split, limit: int | None = None) -> Sequence[Problem]:
        """The first `limit` problems of a split. Draws them all at the first call."""
        check_split(split)
        if self._problems is None:
            self._problems = self._draw()
        return self._problems[split][:limit]

    def score_texts(
        self,
        problems: Sequence[Problem],
        texts: Sequence[str],
        truncated: Sequence[bool],
        *,
        sandbox: Any = None,  # noqa: ARG002
    ) -> Columns:
        """Columns `correct`, `score` and `format`, each [M]."""
        done = ~np.asarray(truncated, dtype=bool)
        asked = zip(problems, texts, done.tolist(), strict=True)
        scores = np.array([self._score(p, text) if ok else 0.0 for p, text, ok in asked], dtype=np.float64)
        tagged = np.array([_ANSWER.search(text) is not None for text in texts], dtype=bool)
        return {
            "correct": (scores >= RIGHT).astype(np.float64),
            "score": scores,
            "format": (tagged & done).astype(np.float64),
        }

    def notes(self) -> Sequence[str]:
        """What became of the draws, and answers whose scorer took too long."""
        late = self.timeouts
        said = (self.counts.told(), f"{late} answers took their scorer too long and count as wrong" if late else "")
        return [f"{self.name}: {one}" for one in said if one]

    @property
    def timeouts(self) -> int:
        """Answers that their scorer took too long over; they count as wrong."""
        return self._worker.timeouts

    def digest(self) -> str:
        """That of a task, and the version whose scorers decide."""
        version = importlib.metadata.version("reasoning-gym")
        parts = [super().digest(), self.unmarked, version, json.dumps(self.config, sort_keys=True, default=str)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def _score(self, problem: Problem, text: str) -> float:
        tagged = _ANSWER.findall(text)
        answer = tagged[-1] if tagged else marked_answer(text) or self._unmarked(text)
        return float(self._worker.ask(["score", problem.data["index"], answer.strip()]) or 0.0)

    def _unmarked(self, text: str) -> str:
        if self.unmarked == "text":
            return text
        found = written_number(text, None)
        return "" if found is None else str(found)

    def _draw(self) -> dict[Split, tuple[Problem, ...]]:
        counts, drawn = Counts(rows=self.size), []
        for start in range(0, self.size, CHUNK):
            rows = self._worker.ask(["draw", start, min(start + CHUNK, self.size)], CHUNK_SECONDS)
            if rows is None:
                raise HarnessError(
                    f"task {self.name!r}: {CHUNK} problems took over {CHUNK_SECONDS:g} s to draw, or ended the process;"
                    " give a config with smaller ones"
                )
            drawn += [(start + i, *row) for i, row in enumerate(rows)]
        sound = [(index, question, answer) for index, question, answer, good in drawn if good]
        counts.unreadable = len(drawn) - len(sound)
        placed = place({"train": [self._problem(*row) for row in sound]}, counts)
        if not all(placed[split] for split in SPLITS):
            sizes = ", ".join(f"{split} {len(placed[split])}" for split in SPLITS)
            raise HarnessError(
                f"task {self.name!r}: too few different problems ({sizes}; {counts.told() or 'all sound'});"
                " give a larger size, or a config with more of them"
            )
        self.counts = counts
        return placed

    def _problem(self, index: int, question: str, answer: str) -> Problem:
        key = f"{self.name}:{stable_hash(question):016x}"
        data = {"index": index, "question": question}
        return Problem(key, f"{question.strip()}\n{self.instruction}", self.name, answer, data)
