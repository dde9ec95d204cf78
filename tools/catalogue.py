"""Write what follows from the method classes: their entry points in pyproject.toml and the README's table.

    python tools/catalogue.py           write
    python tools/catalogue.py --check   exit 1 if something is out of date

Classes are read from their source (`ast`), so nothing is imported. In an editable installation `pip install -e .`
afterwards makes new names known.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from harness.hookspecs import HOOKS
from harness.host.plugin import slug_of
from harness.host.reading import Card, read_classes
from harness.host.source_cache import SourceCache

ROOT = Path(__file__).parents[1]
PLUGINS = ROOT / "plugins"
ENTRY_POINTS = re.compile(r'(?<=\[project\.entry-points\."harness\.methods"\]\n)(?:[^\n\[]+\n)*')
TABLE = re.compile(r"(?<=<!-- methods -->\n).*?(?=<!-- end of methods -->)", re.DOTALL)
COMMENT = "# one line per first-party method, written by tools/catalogue.py; third parties use the same group\n"


def methods() -> dict[str, tuple[str, Card]]:
    """Slug -> (module, card) of every `@method` class of harness_papers, with what it inherits.

    Exits with 1 where a slug comes twice.
    """
    found: dict[str, tuple[str, Card]] = {}
    sys.path.insert(0, str(PLUGINS))  # parent classes are found as Python finds modules
    sources = SourceCache(ROOT, {})
    for path in sorted((PLUGINS / "harness_papers").rglob("*.py")):
        module = ".".join(path.relative_to(PLUGINS).with_suffix("").parts)
        cards, _ = read_classes(path.read_text(encoding="utf-8"), module.rpartition(".")[0])
        for own in cards.values():
            if not own.is_method:
                continue
            card = sources.describe(module, own.attr)[1] or own
            slug = card.literal("name") or slug_of(card.attr)
            if slug in found:
                sys.exit(f"{slug!r} is the name of {module}:{card.attr} and of {found[slug][0]}:{found[slug][1].attr}")
            found[slug] = (module, card)
    return dict(sorted(found.items()))


def entry_points() -> str:
    """The lines of the entry-point section."""
    return COMMENT + "".join(f'{slug} = "{module}:{card.attr}"\n' for slug, (module, card) in methods().items())


def table() -> str:
    """The README's list: a fold a family, a line a method with paper, hooks, confidence and idea."""
    families: dict[str, list[str]] = {}
    for slug, (module, card) in methods().items():
        families.setdefault(module.split(".")[1], []).append(_line(slug, card))
    parts = []
    for family in sorted(families):
        title = f"{family.replace('_', ' ').capitalize()} ({len(families[family])})"
        parts += ["<details>", f"<summary>{title}</summary>", "", "| method | paper | hooks | confidence | idea |"]
        parts += ["|---|---|---|---|---|", *families[family], "", "</details>", ""]
    total = sum(map(len, families.values()))
    return f"{total} methods; each name leads to its page.\n\n" + "\n".join(parts)


def _line(slug: str, card: Card) -> str:
    paper = card.literal("paper")
    is_arxiv = bool(paper and re.fullmatch(r"\d{4}\.\d{4,5}", paper))
    source = f"[{paper}](https://arxiv.org/abs/{paper})" if is_arxiv else paper or "-"
    hooks = ", ".join(hook for hook in card.hooks if hook not in {"start", "end_step"})
    hooks = "every hook" if len(card.hooks) == len(HOOKS) else hooks
    sure = (confidence(card) or "-").split()[0].strip(".,;")
    note = " (experimental)" if card.literal("experimental") else ""
    idea = " ".join(card.doc.split("\n\n")[0].split()).replace("|", r"\|")
    return f"| [`{slug}`](docs/methods/{slug}.md){note} | {source} | {hooks} | {sure} | {idea} |"


def confidence(card: Card) -> str:
    """What the docstring says of how sure the formula is: code, paper, secondary or abstract, and what it adds."""
    found = re.search(r"Confidence:\s*([^\n]+(?:\n(?!\s*\n)[^\n]+)*)", card.doc)
    return " ".join(found[1].split()).rstrip(".") if found else ""


def main() -> None:
    """Write both files, or say that they are out of date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = []
    for name, pattern, text in (("pyproject.toml", ENTRY_POINTS, entry_points()), ("README.md", TABLE, table())):
        old = (ROOT / name).read_text(encoding="utf-8")
        new = pattern.sub(lambda _, text=text: text, old, count=1)
        if new != old:
            stale.append(name)
            if not check:
                (ROOT / name).write_text(new, encoding="utf-8")
    if check and stale:
        sys.exit(f"{', '.join(stale)}: out of date; run python tools/catalogue.py")


if __name__ == "__main__":
    main()
