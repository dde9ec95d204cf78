"""`harness cite STACK...`: BibTeX of the papers of every plugin in the stacks, and of the harness."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from harness.host import Entry

__all__ = ["bibtex", "register"]

ARXIV = re.compile(r"(?:arxiv:)?(\d{2})(\d{2})\.(\d{4,5})(v\d+)?", re.IGNORECASE)
DOI = re.compile(r"(?:https?://doi\.org/|doi:)?(10\.\d{4,9}/\S+)", re.IGNORECASE)
SPECIAL = str.maketrans({"&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "$": r"\$", "{": r"\{", "}": r"\}"})
SELF = "policy-harness"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("cite")(cite)


def cite(
    stacks: Annotated[list[str], typer.Argument(metavar="STACK...", help="Method stacks: dapo, grpo(beta=0)+mc-grpo.")],
    plugin: Annotated[list[Path] | None, typer.Option(help="A file with methods of your own; may be repeated.")] = None,
) -> None:
    """Print BibTeX of the papers behind the stacks, bases included, and of policy-harness.

    Plugins record where their papers are, not who wrote them: an entry names a title where the plugin states one.
    """
    from harness.host import build_stack, discover

    catalogue = discover(plugin or ())
    entries: dict[str, Entry] = {}
    for stack in stacks:
        for seat in build_stack(stack, catalogue).seats:
            entries.setdefault(seat.entry.slug, seat.entry)
    typer.echo("\n\n".join([*papers(list(entries.values())), itself()]))


def papers(entries: Sequence[Entry]) -> list[str]:
    """An entry for each paper, and a comment for the plugins that name none."""
    by_paper: dict[str, list[Entry]] = {}
    for entry in entries:
        by_paper.setdefault(str(entry.paper or ""), []).append(entry)
    without = sorted(entry.slug for entry in by_paper.pop("", []))
    made = [paper_entry(paper, found) for paper, found in by_paper.items()]
    if any("title" not in text for text in made):
        made.insert(0, "% Authors, and titles where they are missing, are not recorded here: take them from the urls.")
    return made + ([f"% no paper is recorded for {', '.join(without)}"] if without else [])


def paper_entry(paper: str, entries: Sequence[Entry]) -> str:
    """The entry of a paper that one or more plugins state."""
    slugs = sorted(entry.slug for entry in entries)
    titles = (entry.card.literal("title") for entry in entries if entry.card)
    title = next((str(found) for found in titles if found), "")
    fields = {"key": slugs[0], **({"title": f"{{{title.translate(SPECIAL)}}}"} if title else {}), **place(paper)}
    fields["note"] = f"Method{'s' * (len(slugs) > 1)} {', '.join(slugs)} of {SELF}"
    return bibtex(re.sub(r"[^A-Za-z0-9.:/-]", "-", f"{slugs[0]}:{fields.get('eprint', slugs[0])}"), fields)


def place(paper: str) -> dict[str, str]:
    """Where a paper is: arXiv, a DOI, or an address."""
    if found := ARXIV.fullmatch(paper):
        number = f"{found[1]}{found[2]}.{found[3]}"
        return {"year": f"20{found[1]}", "eprint": number, "archivePrefix": "arXiv",
                "url": f"https://arxiv.org/abs/{number}"}  # fmt: skip
    if found := DOI.fullmatch(paper):
        return {"doi": found[1], "url": f"https://doi.org/{found[1]}"}
    return {"url": paper if "://" in paper else f"https://{paper}"}


def itself() -> str:
    """The entry of the harness, from its CITATION.cff."""
    import harness
    from harness import yaml12
    from harness.resources import data_path

    told: dict[str, Any] = yaml12.load(data_path("CITATION.cff"))[0]
    authors = " and ".join(author_of(author) for author in told.get("authors", []))
    fields = {
        "title": f"{{{str(told['title']).translate(SPECIAL)}}}",
        "author": authors,
        **({"url": str(told["url"])} if told.get("url") else {}),
        "note": f"Software, version {harness.__version__}",
    }
    return bibtex(SELF, fields)


def author_of(author: dict[str, Any]) -> str:
    """A person as 'family, given', an organisation in braces so that it stays whole."""
    if "family-names" in author:
        return ", ".join(str(author[part]) for part in ("family-names", "given-names") if author.get(part))
    return f"{{{str(author.get('name', '')).translate(SPECIAL)}}}"


def bibtex(key: str, fields: dict[str, str]) -> str:
    """A @misc entry; empty fields are left out."""
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@misc{{{key},", *lines, "}"])
