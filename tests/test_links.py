"""Every relative link of every Markdown file that is committed leads to a committed file, and to a heading in it."""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1`*~*\s*$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"(`+)(?!`)(?:(?!\n\n).)+?(?<!`)\1(?!`)", re.DOTALL)  # never across paragraphs
LINK = re.compile(
    r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^()\s>]*(?:\([^()]*\)[^()\s>]*)*)>?(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)"
)
REFERENCE = re.compile(r"^\s{0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.MULTILINE)
ATTRIBUTE = re.compile(r"<(?:a|img)\b[^>]*?\b(?:href|src)=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$", re.MULTILINE)
ELSEWHERE = re.compile(
    r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE
)  # another site: nothing here can tell whether it is there


@functools.cache
def committed() -> frozenset[str]:
    """The files that git knows, with their folders; all files where this is no working copy."""
    asked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = [name for name in asked.stdout.split("\0") if name]
    if asked.returncode or not names:
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file()]
    return frozenset(str(part) for name in names for part in (Path(name), *Path(name).parents))


def pages() -> list[str]:
    return sorted(name for name in committed() if name.endswith(".md") and (ROOT / name).is_file())


def without_code(text: str) -> str:
    return CODE.sub("", FENCE.sub("", text))


@functools.cache
def anchors(name: str) -> frozenset[str]:
    """The ids that GitHub gives the headings of a page; one that comes again is numbered."""
    text = FENCE.sub("", (ROOT / name).read_text(encoding="utf-8"))
    found: dict[str, int] = {}
    ids = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    for heading in HEADING.findall(text):
        words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number = found[slug] = found.get(slug, -1) + 1
        ids.add(f"{slug}-{number}" if number else slug)
    return frozenset(ids)


def faults(name: str, text: str) -> list[str]:
    """What is wrong with the relative links of a page."""
    said = []
    for link in [found for pattern in (LINK, REFERENCE, ATTRIBUTE) for found in pattern.findall(without_code(text))]:
        if ELSEWHERE.match(link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (ROOT / name).parent.joinpath(path).resolve() if path else ROOT / name
        place = str(target.relative_to(ROOT)) if target.is_relative_to(ROOT) else ""
        if place not in committed():
            said.append(f"{name}: {link} is no committed file")
        elif anchor and place.endswith(".md") and anchor not in anchors(place):
            said.append(f"{name}: {link} is no heading of {place}")
    return said


def test_links_lead_somewhere() -> None:
    found = [fault for name in pages() for fault in faults(name, (ROOT / name).read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


def test_the_pages_are_all_there() -> None:
    names = pages()
    assert {"README.md", "docs/figures.md", "docs/methods/grpo.md", "results/README.md"} <= set(names)
    linked = sum(len(LINK.findall(without_code((ROOT / name).read_text(encoding="utf-8")))) for name in names)
    assert linked > 500


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[a](docs/rules.md) and ![b](docs/nothing.png)", ["docs/nothing.png is no committed file"]),
        ("[a](docs/rules.md#nonsense)", ["docs/rules.md#nonsense is no heading of docs/rules.md"]),
        ("[a](https://example.org/x) `[b](nowhere.md)` [c](docs/)", []),
        (
            "[a [b] c](nowhere.md 'x') [`code`](gone.md)",
            ["nowhere.md is no committed file", "gone.md is no committed file"],
        ),
        ("```\n[a](nowhere.md)\n```\n[here]: nowhere.md\n", ["nowhere.md is no committed file"]),
        ('<img src="nowhere.png" alt="">', ["nowhere.png is no committed file"]),
        ("[up](../x.md)", ["../x.md is no committed file"]),
    ],
)
def test_what_counts_as_a_broken_link(text: str, wrong: list[str]) -> None:
    assert faults("README.md", text) == [f"README.md: {one}" for one in wrong]
