"""Names that MLflow accepts, reversibly: any metric name maps to an accepted, unique one and back.

MLflow takes letters, digits, `_ - . / :` and spaces, refuses paths that are not normal (`//`, `..`, a leading `/`) and
keys beyond 250 characters. Letters, digits and `_` stay, so do `.` and `/` between two of them; everything else is
written as its hexadecimal code point between hyphens.
"""

from __future__ import annotations

import functools
import hashlib
import re

__all__ = ["LONGEST", "decode", "encode"]

LONGEST = 250
PLAIN = re.compile(r"[A-Za-z0-9_]")
ESCAPED = re.compile(r"-([0-9a-f]+)-")


@functools.lru_cache(maxsize=4096)  # a trial has thousands of points of few names
def encode(name: str) -> str:
    """A metric or parameter name as MLflow takes it; plain names (letters, digits, `_`, single inner `/`, `.`) stay."""
    text = "".join(kept(name, i) for i in range(len(name))) or "--"
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - 18]}--{hashlib.sha256(name.encode()).hexdigest()[:16]}"  # too long to be reversible


def kept(name: str, place: int) -> str:
    """One character of a name: itself where it is safe there, else its escape."""
    character = name[place]
    if PLAIN.match(character):
        return character
    before, after = name[place - 1 : place] if place else "", name[place + 1 : place + 2]
    inner = bool(PLAIN.match(before)) and bool(PLAIN.match(after))
    return character if character in "/." and inner else f"-{ord(character):x}-"


def decode(text: str) -> str:
    """The name that `encode` was given (shortened ones apart)."""
    return "" if text == "--" else ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
