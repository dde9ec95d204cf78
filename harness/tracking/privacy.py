"""What a store may know: no machine, no user, no folder. A store may be shared, and its files travel."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["SECRET", "anonymous", "without_folders"]

SECRET = frozenset({"host", "hostname", "node", "user", "username", "pid", "cwd", "argv"})
# an absolute path where a word may begin: /a/b, ~/b, C:\a\b, file:///a/b; what stands before it stays
FOLDERS = re.compile(
    r"""(?P<before>^|[\s"'`(\[{=,;:<>])(?:file://)?(?:~[\w.-]*|[A-Za-z]:)?(?:[/\\][^\s/\\"'`:,;()\[\]{}<>]+)*[/\\](?P<name>[^\s/\\"'`:,;()\[\]{}<>]+)"""
)
WEB = re.compile(r"\b(?!file\b)[a-z][a-z0-9+.-]*://\S+")
ACCOUNT = re.compile(r"(?<=://)[^/@\s]+@")


def without_folders(text: str) -> str:
    """The text with the last part only of every absolute path, and without accounts in addresses; ratios such as a/b
    and web addresses stay.
    """
    pieces, place = [], 0
    for web in WEB.finditer(text):
        pieces += [FOLDERS.sub(last_part, text[place : web.start()]), ACCOUNT.sub("", web[0])]
        place = web.end()
    return "".join([*pieces, FOLDERS.sub(last_part, text[place:])])


def last_part(found: re.Match[str]) -> str:
    """A path as its last part."""
    return f"{found['before']}{found['name']}"


def anonymous(value: Any) -> Any:
    """A JSON value without entries named in SECRET and without folders in its texts, at any depth."""
    if isinstance(value, dict):
        return {key: anonymous(part) for key, part in value.items() if key not in SECRET}
    if isinstance(value, (list, tuple)):
        return [anonymous(part) for part in value]
    return without_folders(value) if isinstance(value, str) else value
