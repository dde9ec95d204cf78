r"""Any data set as a task: a YAML file says where the data are, which fields matter, and how answers are compared.

    name: gsm8k
    path: openai/gsm8k            # a Hugging Face data set, or `files: {train: train.jsonl, test: test.jsonl}`
    subset: main
    splits: {train: train, test: test}
    question: question            # a field, or a template: "{context} {question}"
    answer: answer
    answer_pattern: "#### (.*)"   # what of the answer field is the answer; default: all of it
    prompt: "{question}\nEnd with #### and the number."
    verify: number                # number | math | exact
    max_tokens: 256

Relative files are looked up beside the YAML file.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from harness.errors import HarnessError, UsageError, nearest
from harness.tasks.answers import find_answer, marked_answer, number
from harness.tasks.base import SPLITS, Columns, Problem, Split, Task, check_split, hash_split, stable_hash
from harness.tasks.verify import MathVerifier

__all__ = ["DatasetTask", "Mapped"]

Row = Mapping[str, Any]


class Mapped(BaseModel):
    """The settings of a data set task."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    path: str | None = None
    subset: str | None = None
    revision: str | None = None
    files: dict[str, str] = Field(default_factory=dict)
    splits: dict[Split, str] = Field(default_factory=dict)
    question: str = "question"
    answer: str = "answer"
    answer_pattern: str | None = None
    prompt: str = "{question}"
    verify: Literal["number", "math", "exact"] = "number"
    max_tokens: int = Field(256, ge=1)
    reward_weights: dict[str, float] = Field(default_factory=dict)
    verify_seconds: float = Field(3.0, gt=0)

    @model_validator(mode="after")
    def _one_source(self) -> Mapped:
        if bool(self.path) == bool(self.files):
            msg = "give either path (a Hugging Face data set) or files (JSON Lines, JSON, CSV or Parquet)"
            raise ValueError(msg)
        return self


class DatasetTask(Task):
    """Questions and answers of a data set.

    Columns: `correct` and `format` (the answer stands behind `####` or in a box). A truncated text is neither. Where
    the data have no split of their own for validation or test, it is cut out of train by the hash of the question;
    a question that stands in several splits stays in the last of them (test) only. Rows whose known answer cannot be
    read are left out: `rejected` counts them.
    """

    columns = ("correct", "format")
    correct_column = "correct"

    def __init__(self, file: str | Path | None = None, **settings: Any) -> None:
        """Settings from a YAML file, with `settings` above them. Raises UsageError for what is wrong with them."""
        origin = Path(file) if file is not None else None
        data = _read(origin) if origin is not None else {}
        self.settings = _checked({**data, **settings}, str(origin or settings.get("name", "data set task")))
        self.name = self.settings.name  # type: ignore[misc]
        self.max_tokens = self.settings.max_tokens
        self.reward_weights = {"correct": 1.0, "format": 0.1} | self.settings.reward_weights
        self.rejected = 0
        self._folder = origin.parent if origin is not None else Path()
        self._verifier = MathVerifier(self.settings.verify_seconds)
        self._problems: dict[Split, tuple[Problem, ...]] | None = None

    def problems(self, split: Split, limit: int | None = None) -> Sequence[Problem]:
        """The first `limit` problems of a split, in the order of the data. Reads the data at the first call."""
        check_split(split)
        if self._problems is None:
            self._problems = self._load()
        return self._problems[split][:limit]

    def score_texts(
        self,
        problems: Sequence[Problem],
        texts: Sequence[str],
        truncated: Sequence[bool],
        *,
        sandbox: Any = None,  # noqa: ARG002
    ) -> Columns:
        """Columns `correct` and `format`, each [M]."""
        done = ~np.asarray(truncated, dtype=bool)
        right = [ok and self._right(p.answer, text) for p, text, ok in zip(problems, texts, done.tolist(), strict=True)]
        marked = np.array([marked_answer(text) is not None for text in texts], dtype=bool)
        return {"correct": np.array(right, dtype=np.float64), "format": (marked & done).astype(np.float64)}

    def _right(self, gold: str, text: str) -> bool:
        if self.settings.verify == "number":
            return find_answer(text) == number(gold)
        marked = marked_answer(text)
        if self.settings.verify == "exact":
            return (marked if marked is not None else text).strip() == gold
        answer = marked if marked is not None else _last_line(text)
        return answer is not None and self._verifier.equal(gold, answer)

    # -- reading -------------------------------------------------------------------------------------------------

    def _load(self) -> dict[Split, tuple[Problem, ...]]:
        rows = {split: self._rows(source) for split, source in self._sources().items()}
        if "train" not in rows and "test" not in rows:
            raise UsageError(f"task {self.name!r}: splits names neither train nor test")
        placed: dict[str, tuple[Split, Problem]] = {}
        for split in SPLITS:
            for row in rows.get(split, []):
                problem = self._problem(row)
                if problem is None:
                    self.rejected += 1
                    continue
                canonical = " ".join(problem.prompt.split())
                own = hash_split(canonical) if split == "train" else split
                placed[canonical] = (split if own in rows else own, problem)
        found: dict[Split, tuple[Problem, ...]] = {
            split: tuple(problem for where, problem in placed.values() if where == split) for split in SPLITS
        }
        if not any(found.values()):
            raise HarnessError(
                f"task {self.name!r}: none of its {self.rejected} rows has an answer that can be read as"
                f" {self.settings.verify}; check answer, answer_pattern and verify"
            )
        return found

    def _sources(self) -> dict[Split, str]:
        if self.settings.splits:
            return self.settings.splits
        names = self.settings.files or {"train": "train", "test": "test"}
        return {split: split for split in SPLITS if split in names}

    def _problem(self, row: Row) -> Problem | None:
        gold = str(self._field(row, self.settings.answer)).strip()
        if self.settings.answer_pattern is not None:
            found = re.search(self.settings.answer_pattern, gold)
            if found is None:
                return None
            gold = (found[1] if found.groups() else found[0]).strip()
        readable = {
            "number": lambda: number(gold) is not None,
            "math": lambda: self._verifier.readable(gold),
            "exact": lambda: bool(gold),
        }
        if not readable[self.settings.verify]():
            return None
        question = str(self._field(row, self.settings.question)).strip()
        prompt = self._filled(self.settings.prompt, {**row, "question": question})
        return Problem(f"{self.name}:{stable_hash(prompt):016x}", prompt, self.name, gold)

    def _field(self, row: Row, name: str) -> Any:
        if name in row:
            return row[name]
        if "{" in name:
            return self._filled(name, row)
        raise UsageError(f"task {self.name!r}: the data have no field {name!r}.{nearest(name, map(str, row))}")

    def _filled(self, template: str, row: Row) -> str:
        try:
            return template.format_map(row)
        except (KeyError, IndexError, ValueError, AttributeError) as error:
            known = nearest(str(error).strip("'"), map(str, row))
            raise UsageError(f"task {self.name!r}: cannot fill in {template!r}: {error}.{known}") from None

    def _rows(self, source: str) -> list[Row]:
        import datasets

        settings = self.settings
        if settings.files:
            if source not in settings.files:
                raise UsageError(f"task {self.name!r}: no file for split {source!r}.{nearest(source, settings.files)}")
            return _read_rows(self._folder / settings.files[source], self.name)
        try:
            data = datasets.load_dataset(settings.path, settings.subset, split=source, revision=settings.revision)
        except Exception as error:
            reason = " ".join(str(error).split())[:160]
            raise HarnessError(
                f"task {self.name!r}: data set {settings.path!r} cannot be read ({reason}); run it where the Hugging"
                " Face hub answers, set HF_HOME to a cache that holds it, or give files"
            ) from error
        return [dict(row) for row in data]


def _last_line(text: str) -> str | None:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else None


def _read(file: Path) -> dict[str, Any]:
    from harness import yaml12

    if not file.is_file():
        raise UsageError(f"no task file {file}.{nearest(str(file), map(str, file.parent.glob('*.y*ml')))}")
    data, _ = yaml12.load(file)
    if not isinstance(data, dict):
        raise UsageError(f"{file}: a task file is a mapping of settings")
    return data


def _checked(data: Mapping[str, Any], where: str) -> Mapped:
    try:
        return Mapped.model_validate(data)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"]))
        if fault["type"] == "extra_forbidden":
            raise UsageError(f"{where}: unknown setting {place!r}.{nearest(place, Mapped.model_fields)}") from None
        raise UsageError(f"{where}: {place or 'settings'}: {fault['msg'].removeprefix('Value error, ')}") from None


def _read_rows(file: Path, task: str) -> list[Row]:
    """The rows of a JSON Lines, JSON, CSV or Parquet file."""
    readers: dict[str, Callable[[Path], list[Row]]] = {
        ".jsonl": lambda path: [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()],
        ".json": lambda path: list(json.loads(path.read_text("utf-8"))),
        ".csv": lambda path: list(csv.DictReader(path.read_text("utf-8").splitlines(keepends=True))),
        ".parquet": _parquet,
    }
    if not file.is_file():
        raise UsageError(f"task {task!r}: no file {file}.{nearest(file.name, (f.name for f in file.parent.glob('*')))}")
    if file.suffix not in readers:
        raise UsageError(f"task {task!r}: cannot read {file.name}; allowed: {', '.join(readers)}")
    try:
        rows = readers[file.suffix](file)
    except (ValueError, OSError) as error:
        raise UsageError(f"task {task!r}: {file} cannot be read: {error}") from None
    if not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"task {task!r}: {file} must hold objects with named fields, one a row")
    return rows


def _parquet(file: Path) -> list[Row]:
    import pyarrow.parquet

    return list(pyarrow.parquet.read_table(file).to_pylist())
