r"""Any data set as a task: a YAML file says where the data are, which columns matter, and how answers are compared.

    name: gsm8k
    path: openai/gsm8k            # a Hugging Face data set, or `files: {train: train.jsonl, test: test.jsonl}`
    subset: main
    splits: {train: train, test: test}
    question: question            # a column, a dotted one (a.b), or a template: "{context} {question}"
    answer: answer
    answer_pattern: "#### (.*)"   # what of the answer column is the answer; default: all of it
    prompt: "{question}\nEnd with #### and the number."
    verify: number                # number | math | exact | code (with `tests: <column of asserts>`)
    max_tokens: 256

Relative files are looked up beside the YAML file. `like: gsm8k` stands on a bundled mapping (docs/tasks.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from harness.errors import HarnessError, UsageError, nearest
from harness.tasks.answers import marked_answer, number, written_number
from harness.tasks.base import SPLITS, Columns, Problem, Split, Task, check_split
from harness.tasks.fields import Fields
from harness.tasks.mapping import Mapped, checked, read
from harness.tasks.placing import Counts, place
from harness.tasks.problems import problem_of, rehearsed
from harness.tasks.programs import program_text, score_programs
from harness.tasks.rows import Row, file_rows, hub_rows, package_folder
from harness.tasks.verify import MathVerifier

__all__ = ["DatasetTask"]

# What decides how a completion is scored, beside the problems themselves.
_SCORING = ("verify", "verify_seconds", "entry", "tests", "prefix", "answer_mark", "stop", "shown", "max_tests")


class DatasetTask(Task):
    """Questions and answers of a data set.

    Columns: `correct` and `format` (the answer is marked; of code: it is Python), of code `pass_fraction` too (the
    share of the tests that the prompt does not show). A truncated text has none of them. `counts`: which rows went.
    """

    columns = ("correct", "format")
    correct_column = "correct"
    answer_format: ClassVar[str | None] = "format"

    def __init__(self, file: str | Path | None = None, **settings: Any) -> None:
        """Settings from a YAML file, with `settings` above them. Raises UsageError for what is wrong with them."""
        origin = Path(file) if file is not None else None
        data = read(origin) if origin is not None else {}
        where = str(origin or settings.get("name") or settings.get("like") or "data set task")
        self.settings: Mapped = checked({**data, **settings}, where)
        self.name = self.settings.name  # type: ignore[misc]
        self.max_tokens = self.settings.max_tokens
        self.reward_weights: dict[str, float] = {"correct": 1.0, "format": 0.1}
        self.needs_sandbox = self.settings.verify == "code"  # type: ignore[misc]
        if self.needs_sandbox:
            self.columns = ("correct", "pass_fraction", "format")  # type: ignore[misc,assignment]
            self.answer_format = None  # type: ignore[misc]
            self.reward_weights |= {"pass_fraction": 0.0}
        self.reward_weights |= self.settings.reward_weights
        self.counts = Counts()
        self._folder = origin.parent if origin is not None else Path()
        self._verifier = MathVerifier(self.settings.verify_seconds)
        self._problems: dict[Split, tuple[Problem, ...]] | None = None

    def problems(self, split: Split, limit: int | None = None) -> Sequence[Problem]:
        """The first `limit` problems of a split, in the order of the data. Reads the data at the first call."""
        check_split(split)
        if self._problems is None:
            self._problems = self._load()
        return self._problems[split][:limit]

    @property
    def timeouts(self) -> int:
        """Answers whose comparison took too long, or brought its process down; they count as wrong."""
        return self._verifier.timeouts

    def notes(self) -> Sequence[str]:
        """What became of the rows, and comparisons that took too long."""
        late = f"{self.timeouts} comparisons took over {self.settings.verify_seconds:g} s and count as wrong"
        return [f"{self.name}: {said}" for said in (self.counts.told(), late if self.timeouts else "") if said]

    # -- scoring -------------------------------------------------------------------------------------------------

    def ended(self, text: str, truncated: bool) -> tuple[str, bool]:
        """The text up to the first of `stop`; what reaches one was not cut. A fenced program has its own end."""
        found = [at for stop in self.settings.stop if (at := text.find(stop)) >= 0]
        if not found or "```" in text:
            return text, truncated
        return text[: min(found)], False

    def score_texts(
        self,
        problems: Sequence[Problem],
        texts: Sequence[str],
        truncated: Sequence[bool],
        *,
        sandbox: Any = None,
    ) -> Columns:
        """The columns, each [M]."""
        ends = [self.ended(text, bool(cut)) for text, cut in zip(texts, truncated, strict=True)]
        texts, done = [text for text, _ in ends], ~np.array([cut for _, cut in ends], dtype=bool)
        if self.settings.verify == "code":
            return self._score_programs(problems, texts, done, sandbox)
        right = [ok and self._right(p.answer, text) for p, text, ok in zip(problems, texts, done.tolist(), strict=True)]
        marked = np.array([self._marked(text) is not None for text in texts], dtype=bool)
        return {"correct": np.array(right, dtype=np.float64), "format": (marked & done).astype(np.float64)}

    def _score_programs(
        self, problems: Sequence[Problem], texts: Sequence[str], done: np.ndarray, sandbox: Any
    ) -> Columns:
        pairs = zip(problems, texts, done.tolist(), strict=True)
        programs = [program_text(text, p.data["prefix"]) if ok else None for p, text, ok in pairs]
        return score_programs(programs, [p.answer for p in problems], sandbox, self.name)

    def _right(self, gold: str, text: str) -> bool:
        marked = self._marked(text)
        if self.settings.verify == "number":
            return written_number(text, marked) == number(gold)
        if self.settings.verify == "exact":
            return (marked if marked is not None else text).strip() == gold
        answer = marked if marked is not None else _last_line(text)
        return answer is not None and self._verifier.equal(gold, answer)

    def _marked(self, text: str) -> str | None:
        """The stated answer: in a box or behind ####, else behind the mark of the data set's own."""
        found, mark = marked_answer(text), self.settings.answer_mark
        if found is not None or mark is None or mark not in text:
            return found
        return text.rpartition(mark)[2].strip().split("\n")[0].strip().strip("$") or None

    def digest(self) -> str:
        """That of a task, and how answers are compared: the mapping decides it, and where the data lie does not."""
        parts = [super().digest(), repr(sorted(self.settings.model_dump(include=set(_SCORING)).items()))]
        parts += [repr(p.data["prefix"]) for split in SPLITS for p in self.problems(split) if "prefix" in p.data]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    # -- reading -------------------------------------------------------------------------------------------------

    def _load(self) -> dict[Split, tuple[Problem, ...]]:
        counts, fields = Counts(), Fields(self.name)
        sources = self._sources()
        if "train" not in sources and "test" not in sources:
            raise UsageError(f"task {self.name!r}: splits names neither train nor test")
        read_row = problem_of(self.settings, fields, self._verifier.readable)
        found: dict[Split, list[Problem]] = {}
        for split, source in sources.items():
            found[split] = self._read(source, fields, read_row, counts)
        found = rehearsed(found, self.settings)
        counts.unreadable = counts.rows - counts.left_out - counts.duplicates - sum(map(len, found.values()))
        placed = place(found, counts)
        if not any(placed.values()):
            raise HarnessError(
                f"task {self.name!r}: none of its {counts.rows} rows has an answer that can be read as"
                f" {self.settings.verify} ({counts.told()}); check answer, answer_pattern and verify"
            )
        self.counts = counts
        return placed

    def _read(
        self, source: str, fields: Fields, read_row: Callable[[Row], Problem | None], counts: Counts
    ) -> list[Problem]:
        """The problems of a split; of equal ones the first, as some data repeat every row a hundred times.

        Those with programs stay for now: the first may be left out yet, and the second be good.
        """
        found: dict[str, Problem] = {}
        for at, row in enumerate(self._rows(source)):
            counts.rows += 1
            if not self._keeps(fields, row):
                counts.left_out += 1
            elif (problem := read_row(row)) is not None:
                key = f"{at}" if self.needs_sandbox else problem.key
                counts.duplicates += key in found
                found.setdefault(key, problem)
        return list(found.values())

    def _keeps(self, fields: Fields, row: Row) -> bool:
        return all(fields.value(row, "keep", name) in allowed for name, allowed in self.settings.keep.items())

    def _sources(self) -> dict[Split, str]:
        if self.settings.splits:
            return self.settings.splits
        names = self.settings.files or {"train": "train", "test": "test"}
        return {split: split for split in SPLITS if split in names}

    def _rows(self, source: str) -> Iterable[Row]:
        settings = self.settings
        if settings.path is not None:
            return hub_rows(settings.path, settings.subset, source, settings.revision, self.name)
        if source not in settings.files:
            raise UsageError(f"task {self.name!r}: no file for split {source!r}.{nearest(source, settings.files)}")
        folder = package_folder(settings.package, self.name) if settings.package else self._folder
        return file_rows(folder / settings.files[source], self.name)


def _last_line(text: str) -> str | None:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else None
