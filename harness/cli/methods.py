"""`harness methods [NAME]`: every method that is installed, or everything about one. Imports neither torch nor them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from harness.host import Catalogue, Entry

__all__ = ["register"]

_NOT_OK = {"failed": "cannot be used:", "disabled": "disabled:", "clash": "clash:"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("methods")(methods)


def methods(
    name: Annotated[str | None, typer.Argument(help="A method, for everything about it.")] = None,
    plugin: Annotated[list[Path] | None, typer.Option(help="A file with methods of your own; may be repeated.")] = None,
    hook: Annotated[str, typer.Option(help="Only methods that implement this hook.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    load: Annotated[bool, typer.Option("--load", help="Import every method; exit 1 if one fails.")] = False,
) -> None:
    """List the methods, or show one: paper, stack, parameters, hooks, needs, source."""
    import json

    from harness.host import discover

    catalogue = discover(plugin or ())
    broken = _failures(catalogue) if load else {}
    if name is None:
        data = [_data(key, entry, catalogue, broken.get(key)) for key, entry in catalogue.items()]
        shown = _with_hook(data, hook)
        print(json.dumps(shown, indent=2) if as_json else _table(shown))
    else:
        slug, _, distribution = name.partition("@")
        found = _data(name, catalogue.find(slug, distribution or None), catalogue, broken.get(name))
        print(json.dumps(found, indent=2) if as_json else _page(found))
    if broken:
        from harness.errors import CheckFailed

        raise CheckFailed("; ".join(broken.values()))


def _failures(catalogue: Catalogue) -> dict[str, str]:
    """Import every method that is not disabled: {name: why it cannot be}."""
    from harness.errors import PluginError

    failures = {}
    for key, entry in catalogue.items():
        try:
            if not entry.disabled:
                entry.load()
        except PluginError as error:
            failures[key] = " ".join(str(error).split())
    return failures


def _data(name: str, entry: Entry, catalogue: Catalogue, failure: str | None) -> dict[str, Any]:
    """Everything about a method. Defaults are Python literals, needs source text; `reason` says why it is not ok."""
    return {
        "name": name,
        "distribution": entry.distribution,
        "version": entry.version,
        "file": str(entry.path) if entry.path else None,
        "class": f"{entry.module}:{entry.attr}",
        "status": "failed" if failure else catalogue.status(entry),
        "reason": failure or catalogue.reason(entry),
        "paper": entry.paper,
        "base": entry.base,
        "experimental": entry.experimental,
        "host_api": entry.host_api,
        "needs": entry.needs,
        "search": entry.card.literal("search", {}) if entry.card else {},
        "parameters": {field.name: {"type": field.type, "default": field.default} for field in entry.fields},
        "hooks": dict(entry.hooks),
        "doc": entry.doc,
    }


def _with_hook(data: list[dict[str, Any]], hook: str) -> list[dict[str, Any]]:
    """The methods that implement a hook; all where none is asked for. Raises UsageError for an unknown one."""
    if not hook:
        return data
    from harness.errors import UsageError, nearest
    from harness.hookspecs import HOOKS

    if hook not in HOOKS:
        raise UsageError(f"--hook {hook}: no such hook.{nearest(hook, HOOKS)}")
    return [entry for entry in data if hook in entry["hooks"]]


def _table(data: list[dict[str, Any]]) -> str:
    """One line a method: name, paper, the first sentence, and whose it is where it is not the harness's own."""
    from harness.host.autoload import FIRST_PARTY

    if not data:
        return "no such methods are installed; `--plugin FILE` loads your own"
    width = max(len(entry["name"]) for entry in data)
    lines = [f"{'method':<{width}}  {'paper':<10}  idea"]
    for entry in data:
        text = entry["doc"].split("\n\n")[0].replace("\n", " ")
        if entry["status"] != "ok":
            text = f"{_NOT_OK[entry['status']]} {entry['reason']}"
        notes = ["experimental"] if entry["experimental"] else []
        if entry["distribution"] != FIRST_PARTY:
            notes.append(f"from {entry['distribution']} {entry['version']}".strip())
        note = f" ({', '.join(notes)})" if notes else ""
        lines.append(f"{entry['name']:<{width}}  {entry['paper'] or '-':<10}  {text}{note}")
    return "\n".join(lines)


def _page(entry: dict[str, Any]) -> str:
    """Everything about one method."""
    from harness.host.needs_words import needs_in_words
    from harness.host.ranges import spelled

    title = entry["name"] + (" (experimental)" if entry["experimental"] else "")
    parts = [title, "", entry["doc"] or "(no description)", ""]
    facts = {
        "paper": entry["paper"] or "-",
        "stands on": entry["base"] or "the defaults",
        "needs": needs_in_words(entry["needs"] or "") or "nothing",
        "from": f"{entry['distribution']} {entry['version']}".strip(),
        "source": f"{entry['file']}:{entry['class'].rpartition(':')[2]}" if entry["file"] else entry["class"],
    }
    if entry["host_api"]:
        facts["host API"] = entry["host_api"]
    if entry["status"] != "ok":
        facts[entry["status"]] = entry["reason"]
    parts += [f"{fact:<10}  {value}" for fact, value in facts.items()]
    if entry["parameters"]:
        searched = {name: f"  (searched: {spelled(value)})" for name, value in entry["search"].items()}
        parts += ["", "parameters"]
        parts += [
            f"  {name}: {field['type']} = {field['default']}{searched.get(name, '')}"
            for name, field in entry["parameters"].items()
        ]
    if entry["hooks"]:
        parts += ["", "hooks"]
        parts += [f"  {hook}{' (wraps)' if kind == 'wrapper' else ''}" for hook, kind in entry["hooks"].items()]
    return "\n".join(parts)
