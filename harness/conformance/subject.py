"""What is checked: a method, a stack, a file, a class or a distribution, as stacks with a plugin under check."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.conformance.reference import REFERENCES, Nothing
from harness.errors import UsageError, nearest
from harness.host import Catalogue, PluginSpec, Seat, Stack, build_stack, discover, parse_stack
from harness.host.autoload import normal
from harness.host.parsing import spell_stack

__all__ = ["EXEMPTIBLE", "Subject", "subjects"]

# Checks that a method may honestly not hold: `@method(exempt={check: reason})`, shown in the report.
EXEMPTIBLE = ("permutation", "precision", "gradient", "loops")

Target = str | Path | type


@dataclasses.dataclass(frozen=True)
class Subject:
    """A stack whose rightmost plugin is under check. `given` is what the user wrote, for commands that reproduce."""

    name: str
    stack: str
    catalogue: Catalogue
    given: str
    seed: int = 0

    @functools.cached_property
    def built(self) -> Stack:
        """The stack, built. Raises UsageError or PluginError if it cannot be."""
        return build_stack(self.stack, self.catalogue)

    @functools.cached_property
    def seat(self) -> Seat:
        """The plugin under check: the rightmost that was written."""
        wanted = parse_stack(self.stack)[-1].name
        return next(seat for seat in reversed(self.built.seats) if seat.given and seat.entry.slug == wanted)

    @property
    def below(self) -> str:
        """The stack without the plugin: what it must differ from, and what its neutral parameters give."""
        specs = parse_stack(self.stack)
        if len(specs) > 1:
            return spell_stack(specs[:-1])
        return self.seat.info.base or Nothing.info.slug  # type: ignore[attr-defined]

    def altered(self, params: Mapping[str, Any]) -> str:
        """The stack with other parameters of the plugin."""
        *others, last = parse_stack(self.stack)
        return spell_stack([*others, PluginSpec(last.name, {**last.params, **params}, last.distribution)])


def subjects(target: Target, *, seed: int = 0, plugins: Sequence[str | Path] = ()) -> list[Subject]:
    """What a method or stack, a .py file, a class or the name of an installed distribution stands for.

    plugins: files whose methods a stack may name as well. Raises UsageError for what is none of these.
    """
    if isinstance(target, type):
        if "info" not in vars(target):
            raise UsageError(f"{target.__name__} is not decorated with @method")
        slug = vars(target)["info"].slug
        return [Subject(slug, slug, _known().with_class(target), target.__qualname__, seed)]
    text = str(target)
    if text.endswith(".py"):
        catalogue = _with_references(discover([text, *plugins]))
        own = [(key, entry) for key, entry in catalogue.items() if entry.path == Path(text).resolve()]
        return [Subject(entry.slug, _named(entry.slug, catalogue, key), catalogue, text, seed) for key, entry in own]
    if {"/", "\\"} & {*text} or text in {".", ".."}:
        _refuse_folder(text)
    known = _with_references(discover(plugins)) if plugins else _known()
    parts = parse_stack(text)
    if any(part.name in known or known.clashes(part.name) for part in parts):
        return [Subject(text, text, known, f"'{text}'" if any(c in text for c in "( '+") else text, seed)]
    offered = [(key, entry) for key, entry in known.items() if normal(entry.distribution) == normal(text)]
    if not offered:
        _refuse_folder(text)
        names = {*known, *(entry.distribution for entry in known.values())}
        hint = nearest(text, names)
        close = hint if "Did you" in hint else ""
        raise UsageError(f"{text!r} is no method, file or distribution.{close} `harness methods` lists all")
    return [Subject(key, key, known, key, seed) for key, _ in offered]


def _refuse_folder(text: str) -> None:
    """Raise UsageError where the text names a folder."""
    folder = Path(text)
    if folder.is_dir():
        files = sorted(path.name for path in folder.glob("*.py"))
        raise UsageError(f"{text!r} is a folder; name a .py file" + (f", such as {folder / files[0]}" if files else ""))


def _named(slug: str, catalogue: Catalogue, key: str) -> str:
    return key if catalogue.clashes(slug) else slug


@functools.cache
def _known() -> Catalogue:
    return _with_references(discover())


def _with_references(catalogue: Catalogue) -> Catalogue:
    for reference in REFERENCES:
        catalogue = catalogue.with_class(reference)
    return catalogue
