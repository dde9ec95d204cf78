"""`harness cite STACK...`: BibTeX of the papers of every plugin in the stacks, and of the harness."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.errors import UsageError, nearest

if TYPE_CHECKING:
    from harness.host import Catalogue, Entry

__all__ = ["bibtex", "register"]

ARXIV = re.compile(r"(?:arxiv:)?(\d{2})(\d{2})\.(\d{4,5})(v\d+)?", re.IGNORECASE)
DOI = re.compile(r"(?:https?://doi\.org/|doi:)?(10\.\d{4,9}/\S+)", re.IGNORECASE)
SPECIAL = str.maketrans({"&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "$": r"\$", "{": r"\{", "}": r"\}"})
SELF = "policy-harness"
PAPERS = "papers.yaml"  # at the top of a package that offers methods, or beside a plugin file


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("cite")(cite)


def cite(
    stacks: Annotated[list[str], typer.Argument(metavar="STACK", help="Method stacks: dapo, grpo(beta=0)+mc-grpo.")],
    plugin: Annotated[list[Path] | None, typer.Option(help="A file with methods of your own; may be repeated.")] = None,
) -> None:
    """Print BibTeX of the papers behind the stacks, bases included, and of policy-harness.

    Methods record where their papers are; titles and authors come from the papers.yaml of their package, and what that
    does not know is left out.
    """
    from harness.host import build_stack, discover

    catalogue = discover(plugin or ())
    refuse_unknown(stacks, catalogue)
    entries: dict[str, Entry] = {}
    for stack in stacks:
        for seat in build_stack(stack, catalogue).seats:
            entries.setdefault(seat.entry.slug, seat.entry)
    typer.echo("\n\n".join([*papers(list(entries.values())), itself()]))


def refuse_unknown(stacks: Sequence[str], catalogue: Catalogue) -> None:
    """Raise UsageError that names every unknown method of all stacks, so that one look mends them all."""
    from harness.host import parse_stack

    known = {entry.slug for entry in catalogue.values()}
    names = dict.fromkeys(spec.name for stack in stacks for spec in parse_stack(stack))
    unknown = [name for name in names if name not in known]
    if len(unknown) > 1:  # of one alone the stack's own error says as much
        hints = {name: nearest(name, known).strip().replace("Did", "did") for name in unknown}
        said = ", ".join(f"{name!r}" + (f" ({hint})" if hint else "") for name, hint in hints.items())
        raise UsageError(f"unknown methods {said}; `harness methods` lists all, a file of your own needs --plugin FILE")


def papers(entries: Sequence[Entry]) -> list[str]:
    """An entry for each paper, and a comment for the plugins that name none."""
    by_paper: dict[str, list[Entry]] = {}
    for entry in entries:
        by_paper.setdefault(str(entry.paper or ""), []).append(entry)
    without = sorted(entry.slug for entry in by_paper.pop("", []))
    made = [paper_entry(paper, found) for paper, found in by_paper.items()]
    comments = []
    for field in ("title", "author"):
        lacking = [key_of(text) for text in made if f"  {field} = " not in text]
        if lacking:
            comments.append(f"% no {field} is recorded for {', '.join(lacking)}: take it from the url")
    return made + comments + ([f"% no paper is recorded for {', '.join(without)}"] if without else [])


def key_of(text: str) -> str:
    """The key of an entry."""
    return text.partition("{")[2].partition(",")[0]


def paper_entry(paper: str, entries: Sequence[Entry]) -> str:
    """The entry of a paper that one or more plugins state."""
    slugs = sorted(entry.slug for entry in entries)
    where = place(paper)
    known = next((found for entry in entries if (found := recorded(entry, where.get("eprint", paper)))), {})
    title, authors = known.get("title"), known.get("authors")
    fields = {
        "key": slugs[0],
        **({"title": f"{{{title.translate(SPECIAL)}}}"} if title else {}),
        **({"author": authors} if authors else {}),
        **where,
        "note": f"Method{'s' * (len(slugs) > 1)} {', '.join(slugs)} of {SELF}",
    }
    return bibtex(re.sub(r"[^A-Za-z0-9.:/-]", "-", f"{slugs[0]}:{fields.get('eprint', slugs[0])}"), fields)


def recorded(entry: Entry, paper: str) -> Mapping[str, str]:
    """What the package of a method knows of a paper: its title, and its authors as BibTeX writes them."""
    folder = package_of(entry)
    file = folder / PAPERS if folder else None
    if file is None or not file.is_file():
        return {}
    from harness import yaml12

    told = yaml12.load(file)[0]
    found = told.get(paper, {}) if isinstance(told, dict) else None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise UsageError(f'{file}: {paper} is not read; write "{paper}": {{title: TEXT, authors: A B and C D}}')
    return found


def package_of(entry: Entry) -> Path | None:
    """The folder of the package that offers a method, found without importing it; of a plugin file, where it lies."""
    if entry.from_file:
        return entry.path.parent if entry.path else None
    spec = importlib.util.find_spec(entry.module.partition(".")[0])
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


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
