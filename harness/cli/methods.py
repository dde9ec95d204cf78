"""`harness methods [NAME]`: every method that is installed, or everything about one. Imports neither torch nor them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from harness.host import Catalogue, Entry

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("methods")(methods)


def methods(
    name: Annotated[str | None, typer.Argument(help="A method, for everything about it.")] = None,
    plugin: Annotated[list[Path] | None, typer.Option(help="A file with methods of your own; may be repeated.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    load: Annotated[bool, typer.Option("--load", help="Import every method; exit 1 if one fails.")] = False,
) -> None:
    """List the methods, or show one: paper, stack, parameters, hooks, needs, source."""
    import json

    from harness.host import discover

    catalogue = discover(plugin or ())
    if load:
        _load(catalogue)
    if name is None:
        listed = dict(catalogue)
        print(json.dumps([_data(key, entry) for key, entry in listed.items()], indent=2) if as_json else _table(listed))
        return
    slug, _, distribution = name.partition("@")
    entry = catalogue.find(slug, distribution or None)
    print(json.dumps(_data(name, entry), indent=2) if as_json else _page(name, entry))


def _load(catalogue: Catalogue) -> None:
    """Import every method. Raises CheckFailed with the reasons if some cannot be."""
    from harness.errors import CheckFailed, PluginError

    failures = []
    for entry in catalogue.values():
        try:
            entry.load()
        except PluginError as error:
            failures.append(str(error))
    if failures:
        raise CheckFailed("; ".join(failures))


def _data(name: str, entry: Entry) -> dict[str, Any]:
    return {
        "name": name,
        "distribution": entry.distribution,
        "version": entry.version,
        "paper": entry.paper,
        "base": entry.base,
        "experimental": entry.experimental,
        "needs": entry.needs,
        "parameters": {field.name: {"type": field.type, "default": field.default} for field in entry.fields},
        "hooks": dict(entry.hooks),
        "doc": entry.doc,
        "source": str(entry.path) if entry.path else None,
        "error": entry.error,
    }


def _table(entries: dict[str, Entry]) -> str:
    """One line a method: name, paper, the first sentence."""
    if not entries:
        return "no methods are installed; `--plugin FILE` loads your own"
    width = max(map(len, entries))
    lines = [f"{'method':<{width}}  {'paper':<10}  idea"]
    for name, entry in entries.items():
        text = f"cannot be used: {entry.error}" if entry.error else entry.doc.split("\n\n")[0].replace("\n", " ")
        note = " (experimental)" if entry.experimental else ""
        lines.append(f"{name:<{width}}  {entry.paper or '-':<10}  {text}{note}")
    return "\n".join(lines)


def _page(name: str, entry: Entry) -> str:
    """Everything about one method."""
    parts = [name + (" (experimental)" if entry.experimental else ""), "", entry.doc or "(no description)", ""]
    facts = {
        "paper": entry.paper or "-",
        "stands on": entry.base or "the defaults",
        "needs": entry.needs or "nothing",
        "from": entry.origin,
        "source": f"{entry.path or entry.module}:{entry.attr}",
    }
    if entry.error:
        facts["cannot be used"] = entry.error
    parts += [f"{fact:<10}  {value}" for fact, value in facts.items()]
    if entry.fields:
        parts += ["", "parameters"]
        parts += [f"  {field.name}: {field.type} = {field.default}" for field in entry.fields]
    if entry.hooks:
        parts += ["", "hooks"]
        parts += [f"  {hook}{' (wraps)' if kind == 'wrapper' else ''}" for hook, kind in entry.hooks.items()]
    return "\n".join(parts)
