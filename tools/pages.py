"""Write the generated parts of the documentation from the method classes and the hook table.

    python tools/pages.py           write
    python tools/pages.py --check   exit 1 if something is out of date
    harness check policy-harness --json > report.json; python tools/pages.py --conformance report.json
                                    also take over what the checks found, for the pages' conformance line

docs/methods/<slug>.md is written whole, one a method, and docs/methods/README.md lists them by family. Of
docs/hooks/<hook>.md the parts after `<!-- signature -->`, `<!-- example: slug -->` and `<!-- users -->` are written, up
to their ends; the rest is prose. docs/hooks/README.md is made from them, and docs/batch.md by `reference.py`.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import re
import sys
from collections import Counter
from pathlib import Path

from catalogue import PLUGINS, ROOT, confidence, methods
from reference import hook_index, parts

from harness.defaults import Defaults
from harness.hookspecs import HOOKS, HookSpecs
from harness.host.needs_words import needs_in_words
from harness.host.reading import Card

DOCS = ROOT / "docs"
RESULTS = DOCS / "methods" / "conformance.json"
ALL_DEFAULTS = {
    "start": "none",
    "build": "none",
    "keep": "every row stays",
    "annotate": "none",
    "train_on": "every token trains",
    "regularize": "no penalty",
    "end_step": "none",
}
REPRODUCE = "Written by `tools/pages.py` from the class; change the docstring there."


def method_page(slug: str, module: str, card: Card, passed: dict[str, str]) -> str:
    """Everything about one method."""
    idea, _, rest = card.doc.partition("\n\n")
    source = f"plugins/{module.replace('.', '/')}.py"
    lines = [f"# `{slug}`", "", " ".join(idea.split()), "", *_facts(slug, module, card, passed), ""]
    if rest.strip():
        lines += ["## Formula and edge cases", "", "```text", rest.strip(), "```", ""]
    if card.parameters:
        lines += ["## Parameters", "", "| name | type | default |", "|---|---|---|"]
        lines += [f"| `{p.name}` | `{p.type.replace('|', chr(92) + '|')}` | `{p.default}` |" for p in card.parameters]
        lines += [""]
    lines += ["## Hooks", "", "| hook | |", "|---|---|"]
    lines += [
        f"| [`{hook}`](../hooks/{hook}.md) | {'wraps what lies below' if kind == 'wrapper' else 'its own'} |"
        for hook, kind in card.hooks.items()
    ]
    lines += ["", f"Source: [`{source}`](../../{source}). {REPRODUCE}", ""]
    return "\n".join(lines)


def _facts(slug: str, module: str, card: Card, passed: dict[str, str]) -> list[str]:
    paper = card.literal("paper")
    link = (
        f"[arXiv {paper}](https://arxiv.org/abs/{paper})" if paper and re.fullmatch(r"\d{4}\.\d{4,5}", paper) else paper
    )
    base = card.literal("base")
    needs = needs_in_words(card.stated.get("needs", ""))
    facts = {
        "family": module.split(".")[1].replace("_", " "),
        "paper": link or "-",
        "confidence": confidence(card) or "-",
        "stands on": f"`{base}`" if base else "the defaults",
        "needs": needs or "nothing",
        "[conformance](../conformance.md)": passed.get(slug, "not checked yet"),
    }
    if card.literal("experimental"):
        facts["status"] = "experimental: the formula is reconstructed"
    if card.literal("search"):
        facts["searched"] = f"`{card.stated['search']}` where a suite [tunes](../tuning.md)"
    if card.literal("neutral"):
        facts["does nothing with"] = f"`{card.stated['neutral']}`"
    return ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in facts.items())]


def index(found: dict[str, tuple[str, Card]]) -> str:
    """The list of all methods by family."""
    families: dict[str, list[str]] = {}
    for slug, (module, card) in found.items():
        note = " (experimental)" if card.literal("experimental") else ""
        idea = " ".join(card.doc.split("\n\n")[0].split())
        families.setdefault(module.split(".")[1], []).append(f"- [`{slug}`]({slug}.md){note}: {idea}")
    lines = ["# Methods", "", f"{len(found)} first-party methods, a page each. {REPRODUCE}", ""]
    for family in sorted(families):
        lines += [f"## {family.replace('_', ' ').capitalize()}", "", *families[family], ""]
    return "\n".join(lines)


def hook_page(hook: str, text: str, found: dict[str, tuple[str, Card]]) -> str:
    """The page of a hook with its generated parts made anew."""
    given = ", ".join(inspect.signature(getattr(HookSpecs, hook)).parameters)
    own = getattr(Defaults, hook, None)
    default = inspect.cleandoc(own.__doc__).partition("\n")[0] if own else ALL_DEFAULTS[hook]
    table = f"| signature | `{hook}({given})`; ask for what you need |\n| default | {default} |\n"
    text = _put(text, "signature", table)
    slug = re.search(r"<!-- example: (\S+) -->", text)[1]  # type: ignore[index]
    module, card = found[slug]
    text = _put(
        text,
        f"example: {slug}",
        f"\nFrom [`{slug}`](../methods/{slug}.md):\n\n```python\n{_source(module, card, hook)}\n```\n",
    )
    users = [f"[`{name}`](../methods/{name}.md)" for name, (_, other) in found.items() if _uses(name, other, hook)]
    return _put(text, "users", "\n" + ", ".join(users) + "\n")


def _uses(slug: str, card: Card, hook: str) -> bool:
    return hook in card.hooks and slug != "placebo"  # placebo wraps every hook


def _put(text: str, name: str, content: str) -> str:
    end = name.partition(":")[0]
    pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end of {end} -->)", re.DOTALL)
    if not pattern.search(text):
        sys.exit(f"no part named {name!r} in a page of docs")
    return pattern.sub(lambda found: found[1] + content + found[2], text)


def _source(module: str, card: Card, hook: str) -> str:
    """The implementation of a hook, as it stands in the class or in the class it inherits from."""
    code = (PLUGINS / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef) and node.name == hook and node.decorator_list:
            lines = code.splitlines()[node.decorator_list[0].lineno - 1 : node.end_lineno]
            return "\n".join(line[4:] for line in lines)
    sys.exit(f"{module}:{card.attr} has no {hook} to show; name another example in docs/hooks/{hook}.md")


def pages() -> dict[Path, str]:
    """Every generated file and what it should hold."""
    found = methods()
    passed = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    wanted = {DOCS / "methods" / f"{slug}.md": method_page(slug, *made, passed) for slug, made in found.items()}
    wanted[DOCS / "methods" / "README.md"] = index(found)
    for hook in HOOKS:
        path = DOCS / "hooks" / f"{hook}.md"
        wanted[path] = hook_page(hook, path.read_text(encoding="utf-8"), found)
    wanted[DOCS / "hooks" / "README.md"] = hook_index(DOCS / "hooks")
    wanted[DOCS / "batch.md"] = batch_page((DOCS / "batch.md").read_text(encoding="utf-8"))
    return wanted


def batch_page(text: str) -> str:
    """The page of what hooks receive with its generated parts made anew."""
    for name, content in parts().items():
        text = _put(text, name, f"\n{content}\n")
    return text


def take_over(report: Path) -> None:
    """Keep of a report of `harness check` what the pages say of every method."""
    said = {}
    for found in json.loads(report.read_text(encoding="utf-8")):
        counts = Counter(finding["status"] for finding in found["findings"])
        words = {"pass": "held", "n.a.": "not applicable", "warn": "warned", "FAIL": "FAILED", "exempt": "exempt"}
        parts = [f"{counts[status]} {words.get(status, status)}" for status in sorted(counts, key=list(words).index)]
        said[found["method"]] = (
            f"{'passes' if found['passed'] else 'FAILS'}: of {sum(counts.values())} checks " + ", ".join(parts)
        )
    RESULTS.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Write the pages, or say which are out of date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--conformance", type=Path, metavar="REPORT")
    given = parser.parse_args()
    check = given.check
    if given.conformance:
        take_over(given.conformance)
    wanted = pages()
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    gone = [path for path in (DOCS / "methods").glob("*.md") if path not in wanted]
    if check and (stale or gone):
        names = ", ".join(str(path.relative_to(ROOT)) for path in [*stale, *gone][:5])
        sys.exit(f"{len(stale) + len(gone)} pages are out of date ({names}); run python tools/pages.py")
    (DOCS / "methods").mkdir(exist_ok=True)
    for path in stale:
        path.write_text(wanted[path], encoding="utf-8")
    for path in gone:
        path.unlink()


if __name__ == "__main__":
    main()
