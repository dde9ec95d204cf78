"""Finding the answer in a text, and comparing numbers exactly: no evaluation, no floating point."""

from __future__ import annotations

import re
from fractions import Fraction

__all__ = ["find_answer", "marked_answer", "number", "numbers", "written_number"]

MAX_DIGITS = 40
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?\$?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:/\d+(?![\w/]))?(?!\w)|(?<![\w.])[-+]?\.\d+", re.ASCII
)
_MARK = re.compile(r"####[ \t]*([^\n]*)")
# Ways to write a number that models have: a fraction and thousands in LaTeX, a unit right behind, a power (no number).
_WRITTEN = (
    (re.compile("[\N{MINUS SIGN}\N{EN DASH}](?=[$\\d])"), "-"),
    (re.compile(r"\\[dt]?frac\s*\{(\d+)\}\s*\{(\d+)\}"), r" \1/\2 "),
    (re.compile(r"(?<=\d)(?:\{,\}|,\\!|,?\\,)(?=\d{3})"), ","),
    (re.compile(r"[\d.,]*\d\}?\s*(?:\^|\*\*)\s*\{?-?\d+\}?"), " "),
    (re.compile(r"(?<=\d)(?!(?:st|nd|rd|th)\b)(?=[A-Za-z]+(?![\w]))"), " "),
)
_BOXED = re.compile(r"\\boxed\s*\{")


def number(text: str) -> Fraction | None:
    """The exact value of a text that is one number: 12, -3, 1,234, $5, 0.50, 3/4, 12%? no. None for anything else."""
    found = _NUMBER.fullmatch(text.strip().rstrip("."))
    return None if found is None else _value(found[0])


def numbers(text: str) -> list[Fraction]:
    """Every number of a text, in order."""
    values = (_value(found[0]) for found in _NUMBER.finditer(text))
    return [value for value in values if value is not None]


def marked_answer(text: str) -> str | None:
    r"""What stands behind the last `####` up to the end of its line, else inside the last `\boxed{}`; None without."""
    marks = _MARK.findall(text)
    if marks:
        return marks[-1].strip() or None
    boxes = list(_BOXED.finditer(text))
    return _braced(text, boxes[-1].end()) if boxes else None


def find_answer(text: str) -> Fraction | None:
    """The number a text gives as its answer: the first behind the mark, without a mark the last of all."""
    marked = marked_answer(text)
    if marked is not None:
        return next(iter(numbers(marked)), None)
    found = numbers(text)
    return found[-1] if found else None


def written_number(text: str, marked: str | None) -> Fraction | None:
    """The number that a model gives: of a stated answer the first, behind the last `=`; of a whole text the last."""
    plain = text if marked is None else marked.rpartition("=")[2]
    for pattern, instead in _WRITTEN:
        plain = pattern.sub(instead, plain)
    found = numbers(plain)
    return None if not found else found[-1 if marked is None else 0]


def _value(text: str) -> Fraction | None:
    digits = text.replace(",", "").replace("$", "")
    if len(digits) > MAX_DIGITS:
        return None
    try:
        return Fraction(digits)
    except (ValueError, ZeroDivisionError):
        return None


def _braced(text: str, start: int) -> str | None:
    depth = 1
    for end in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return text[start:end].strip() or None
    return None
