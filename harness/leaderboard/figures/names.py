"""Names of stacks that fit beside a figure, still told apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

__all__ = ["shorten", "shown_names"]

ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
LONGEST = 28
PARAMETERS = re.compile(r"\([^()]+\)")


def shown_names(methods: Iterable[str], longest: int = LONGEST) -> dict[str, str]:
    """Method -> the name that figures show, at most `longest` characters and no two alike.

    Where shortening makes two alike, their ends are kept, which often say how they differ; else they are numbered.
    """
    names = list(dict.fromkeys(methods))
    short = {name: shorten(name, longest) for name in names}
    alike = repeated(short)
    short |= {name: cut(collapsed(name), longest) for name in alike}
    short |= {name: cut(name, longest) for name in repeated(short)}
    number: Counter[str] = Counter()
    for name in repeated(short):
        text = short[name]
        number[text] += 1
        mark = f" ({number[text]})"
        short[name] = cut(text, longest - len(mark)) + mark
    return short


def repeated(short: Mapping[str, str]) -> list[str]:
    """The methods whose shown name is not theirs alone."""
    times = Counter(short.values())
    return [name for name, text in short.items() if times[text] > 1]


def shorten(name: str, longest: int = LONGEST) -> str:
    """A stack's name cut where it says least: long parameters first, then the middle."""
    while len(name) > longest:
        shorter = collapsed(name)
        if shorter == name:
            return cut(name, longest)
        name = shorter
    return name


def collapsed(name: str) -> str:
    """A name with its longest list of parameters left out; itself where there is none."""
    found = [match for match in PARAMETERS.finditer(name) if match.group() != f"({ELLIPSIS})"]
    if not found:
        return name
    most = max(found, key=lambda match: len(match.group()))
    return f"{name[: most.start()]}({ELLIPSIS}){name[most.end() :]}"


def cut(name: str, longest: int) -> str:
    """A name without its middle; its end often says which variant it is."""
    if len(name) <= longest:
        return name
    tail = (longest - 1) // 3
    return name[: longest - 1 - tail] + ELLIPSIS + name[len(name) - tail :]
