r"""Any data set as a task: a YAML file says where the data are, which fields matter, and how answers are compared.

    name: gsm8k
    path: openai/gsm8k            # a Hugging Face data set, or `files: {train: train.jsonl, test: test.jsonl}`
    subset: main
    splits: {train: train, test: test}
    question: question            # a field, or a template: "{context} {question}"
    answer: answer
    answer_pattern: "#### (.*)"   # what of the answer field is the answer; default: all of it
    prompt: "{question}\nEnd with #### and the number."
    verify: number                # number | math | exact | code (with `tests: <field of asserts>`)
    max_tokens: 256

Relative files are looked up beside the YAML file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import HarnessError, UsageError, nearest
from harness.tasks.answers import find_answer, marked_answer, number
from harness.tasks.asserts import Check, checks_of, is_python, job, passes, program_text
from harness.tasks.base import SPLITS, Columns, Problem, Split, Task, check_split, hash_split, stable_hash
from harness.tasks.mapping import checked, read
from harness.tasks.rows import Row, file_rows, hub_rows
from harness.tasks.verify import MathVerifier

__all__ = ["DatasetTask"]


class DatasetTask(Task):
    """Questions and answers of a data set.

    Columns: `correct` and `format` (the answer stands behind `####` or in a box; of code: it is Python).
    A truncated text is neither. Where
    the data have no split of their own for validation or test, it is cut out of train by the hash of the question;
    a question that stands in several splits stays in the last of them (test) only. Rows whose known answer cannot be
    read are left out: `rejected` counts them.
    """

    columns = ("correct", "format")
    correct_column = "correct"

    def __init__(self, file: str | Path | None = None, **settings: Any) -> None:
        """Settings from a YAML file, with `settings` above them. Raises UsageError for what is wrong with them."""
        origin = Path(file) if file is not None else None
        data = read(origin) if origin is not None else {}
        self.settings = checked({**data, **settings}, str(origin or settings.get("name", "data set task")))
        self.name = self.settings.name  # type: ignore[misc]
        self.max_tokens = self.settings.max_tokens
        self.reward_weights = {"correct": 1.0, "format": 0.1} | self.settings.reward_weights
        self.needs_sandbox = self.settings.verify == "code"  # type: ignore[misc]
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
        sandbox: Any = None,
    ) -> Columns:
        """Columns `correct` and `format`, each [M]."""
        if self.settings.verify == "code":
            return self._score_programs(problems, texts, truncated, sandbox)
        done = ~np.asarray(truncated, dtype=bool)
        right = [ok and self._right(p.answer, text) for p, text, ok in zip(problems, texts, done.tolist(), strict=True)]
        marked = np.array([marked_answer(text) is not None for text in texts], dtype=bool)
        return {"correct": np.array(right, dtype=np.float64), "format": (marked & done).astype(np.float64)}

    def _score_programs(
        self, problems: Sequence[Problem], texts: Sequence[str], truncated: Sequence[bool], sandbox: Any
    ) -> Columns:
        if sandbox is None:
            raise HarnessError(f"task {self.name!r} runs programs and was given no sandbox; pass sandbox=Sandbox(mode)")
        programs = [program_text(text, p.data["prefix"]) for p, text in zip(problems, texts, strict=True)]
        outcomes = sandbox.run([job(program, p.answer) for p, program in zip(problems, programs, strict=True)])
        passed = np.array([passes(o, p.answer) for o, p in zip(outcomes, problems, strict=True)], dtype=bool)
        python = np.array([is_python(program) for program in programs], dtype=bool)
        done = ~np.asarray(truncated, dtype=bool)
        return {"correct": (passed & done).astype(np.float64), "format": (python & done).astype(np.float64)}

    def _right(self, gold: str, text: str) -> bool:
        if self.settings.verify == "number":
            return find_answer(text) == number(gold)
        marked = marked_answer(text)
        if self.settings.verify == "exact":
            return (marked if marked is not None else text).strip() == gold
        answer = marked if marked is not None else _last_line(text)
        return answer is not None and self._verifier.equal(gold, answer)

    def digest(self) -> str:
        """That of a task, and how answers are compared: the mapping decides it, and where the data lie does not."""
        how = self.settings.model_dump(include={"verify", "verify_seconds", "entry", "tests", "prefix"})
        parts = [super().digest(), repr(sorted(how.items()))]
        parts += [repr(p.data["prefix"]) for split in SPLITS for p in self.problems(split) if "prefix" in p.data]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

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
        question = str(self._field(row, self.settings.question)).strip()
        prompt = self._filled(self.settings.prompt, {**row, "question": question})
        key = f"{self.name}:{stable_hash(prompt):016x}"
        if self.settings.verify == "code":
            checks = self._checks(row)
            prefix = str(self._field(row, self.settings.prefix)) if self.settings.prefix else ""
            return Problem(key, prompt, self.name, checks, {"prefix": prefix}) if checks else None
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
        return Problem(key, prompt, self.name, gold)

    def _checks(self, row: Row) -> tuple[Check, ...]:
        tests = self._field(row, str(self.settings.tests))
        entry = str(self._field(row, self.settings.entry)) if self.settings.entry else None
        return checks_of(tests if isinstance(tests, str) else "\n".join(map(str, tests)), entry=entry)

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
        settings = self.settings
        if settings.path is not None:
            return hub_rows(settings.path, settings.subset, source, settings.revision, self.name)
        if source not in settings.files:
            raise UsageError(f"task {self.name!r}: no file for split {source!r}.{nearest(source, settings.files)}")
        return file_rows(self._folder / settings.files[source], self.name)


def _last_line(text: str) -> str | None:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else None
