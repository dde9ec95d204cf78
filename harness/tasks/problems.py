"""A row of a data set as a problem: its prompt, its known answer or its tests, by the settings of a mapping."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.tasks.answers import marked_answer, number
from harness.tasks.asserts import Asserts, asserts_of, checks_of
from harness.tasks.base import Problem, Split, stable_hash
from harness.tasks.fields import Fields
from harness.tasks.mapping import Mapped
from harness.tasks.programs import Tests
from harness.tasks.rehearsal import Play, entry_of, rehearse
from harness.tasks.rows import Row
from harness.tasks.streams import cases_of

__all__ = ["problem_of", "rehearsed"]


def problem_of(settings: Mapped, fields: Fields, readable: Callable[[str], bool]) -> Callable[[Row], Problem | None]:
    """A function from a row to its problem; to None where the known answer cannot be read or no test can be used."""
    read = {"number": lambda gold: number(gold) is not None, "math": readable, "exact": bool}

    def answer(row: Row) -> str | None:
        gold = fields.text(row, "answer", settings.answer).strip()
        if settings.answer_marked:
            gold = marked_answer(gold) or ""
        if settings.answer_pattern is not None:
            found = re.search(settings.answer_pattern, gold)
            gold = ((found[1] if found.groups() else found[0]) or "").strip() if found else ""
        return gold if gold and read[settings.verify](gold) else None

    def problem(row: Row) -> Problem | None:
        question = fields.text(row, "question", settings.question).strip()
        prompt = fields.filled({**row, "question": question}, "prompt", settings.prompt)
        known = _tests(settings, fields, row) if settings.verify == "code" else answer(row)
        data = {tag: fields.value(row, "tags", tag) for tag in settings.tags}
        if prompt != question:
            data.setdefault("question", question)  # other tasks may ask it in other words around it
        if settings.verify == "code":
            data["prefix"] = fields.text(row, "prefix", settings.prefix) if settings.prefix else ""
        key = f"{settings.name}:{stable_hash(prompt):016x}"
        return None if known is None or not question else Problem(key, prompt, settings.name, known, data)

    return problem


def rehearsed(found: Mapping[Split, Sequence[Problem]], settings: Mapped) -> dict[Split, list[Problem]]:
    """The problems, those with tests that compute after a rehearsal; without those whose solution fails its tests."""
    plays = [p.answer for problems in found.values() for p in problems if isinstance(p.answer, Play)]
    if not plays:
        return {split: list(problems) for split, problems in found.items()}
    from harness.tasks.sandbox import Sandbox

    with Sandbox(settings.sandbox) as sandbox:
        done = iter(rehearse(plays, sandbox, settings.shown))
    after: dict[Split, list[Problem]] = {}
    for split, problems in found.items():
        told = [dataclasses.replace(p, answer=next(done)) if isinstance(p.answer, Play) else p for p in problems]
        after[split] = [problem for problem in told if problem.answer is not None]
    return after


def _tests(settings: Mapped, fields: Fields, row: Row) -> Tests | Play | None:
    if settings.input_output is not None:
        return cases_of(fields.value(row, "input_output", settings.input_output), settings.max_tests)
    source = _lines(fields.value(row, "tests", str(settings.tests)))
    entry = fields.text(row, "entry", settings.entry) if settings.entry else None
    checks = checks_of(source, entry=entry)
    if settings.solution is not None and len(checks) < asserts_of(source):
        solution = fields.text(row, "solution", settings.solution)
        setup = _lines(fields.value(row, "setup", settings.setup)) if settings.setup else ""
        name = entry or entry_of(source, solution)
        return Play(name, source, solution, setup) if name else None
    return Asserts(checks, settings.shown) if checks else None


def _lines(value: Any) -> str:
    """Code as one text, of a list of lines or texts too."""
    return value if isinstance(value, str) else "\n".join(map(str, value or ()))
