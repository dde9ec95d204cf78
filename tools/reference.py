"""The generated parts of docs/batch.md, and docs/hooks/README.md: what hooks receive and may use, from the source.

What a field holds is the comment behind it; what a function gives is the first paragraph of its docstring.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import get_args

from harness import mathematics
from harness.batch import Batch, PolicyOutput, PromptRecord
from harness.groups import Groups, standardize
from harness.hookspecs import HOOKS
from harness.host.hints import NEEDED_BY
from harness.host.info import NEEDS
from harness.host.lint import ARGUMENTS
from harness.policies.rollouts import Rollouts
from harness.training.meter import MeteredPolicy
from harness.training.run import Run
from harness.training.state import State

__all__ = ["hook_index", "parts"]

COSTS = {
    "reference": "a forward pass a step",
    "entropy": "nothing where it is measured while sampling, else a forward pass a step",
    "hidden": "nothing",
    "top_logits": "nothing",
    "greedy": "one greedy completion a prompt and step",
}
HEAD = "| | |\n|---|---|\n"


def parts() -> dict[str, str]:
    """{name of a generated part of docs/batch.md: its text}."""
    return {
        "needs": _needs(),
        "batch": _class(Batch),
        "output": _class(PolicyOutput),
        "groups": _class(Groups) + _row(_call("harness.standardize", standardize), _summary(standardize)),
        "state": _class(State, leave=("begin_step", "place")),
        "run": _class(Run),
        "policy": _class(MeteredPolicy, leave=("run", "remember", "known", "forget")),
        "rollouts": _class(Rollouts, leave=("replace",)),
        "prompts": _class(PromptRecord),
        "mathematics": _module(mathematics),
    }


def hook_index(folder: Path) -> str:
    """The table of hooks in the order of a step, from the heads of their pages."""
    lines = [
        "# Hooks",
        "",
        "In the order in which a training step meets them, a page each. *first*: the rightmost plugin of a stack that",
        "implements the hook answers, and wrappers go round it; *all*: what every plugin returns is put together. A",
        "hook takes the arguments that it needs, by name. [What hooks receive](../batch.md) lists all that these hold;",
        "[Write a method in ten minutes](../write-a-method.md) shows how it goes together.",
        "",
        "| hook | | called | kind | returns | arguments |",
        "|---|---|---|---|---|---|",
    ]
    for hook in HOOKS:
        page = (folder / f"{hook}.md").read_text(encoding="utf-8")
        said = dict(re.findall(r"^\| (called|kind|returns) \| (.*) \|$", page, flags=re.MULTILINE))
        taken = ", ".join(f"`{name}`" for name in ARGUMENTS[hook])
        cells = (f"[`{hook}`]({hook}.md)", page.split("\n")[2], said["called"], said["kind"], said["returns"], taken)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", "Written by `tools/pages.py` from the pages.", ""])


def _needs() -> str:
    rows = []
    for need in NEEDS:
        fields = [field for field, wanted in NEEDED_BY.items() if wanted == need]
        filled = [f"`batch.{field}`" for field in fields if field in Batch.__dataclass_fields__]
        filled += [f"`output.{field}`" for field in fields if field in PolicyOutput.__dataclass_fields__]
        filled += ["`state.reference`"] * (need == "reference")
        rows.append(f"| `{need}` | {', '.join(filled)} | {COSTS[need]} |\n")
    return "| need | fills | costs |\n|---|---|---|\n" + "".join(rows)


def _class(cls: type, leave: tuple[str, ...] = ()) -> str:
    """A table of the public fields, properties and methods of a class, in the order of the source."""
    source = textwrap.dedent(inspect.getsource(cls))
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.ClassDef)
    lines = source.splitlines()
    rows = []
    for item in node.body:
        if isinstance(item, ast.AnnAssign):
            rows.append(_row(ast.unparse(item.target), _comment(lines, item)))
        elif isinstance(item, ast.FunctionDef) and item.name == "__init__":
            rows += [_row(name, said) for name, said in _attributes(item, lines)]
        elif isinstance(item, ast.FunctionDef) and item.name not in leave:
            name = _member(cls, item.name)
            rows += [_row(name, _summary(getattr(cls, item.name)))] if name else []
    return HEAD + "".join(rows)


def _member(cls: type, name: str) -> str:
    """How a property or method is spelled where it is used; "" for what is private."""
    found = inspect.getattr_static(cls, name)
    if name == "__len__":
        return f"len({cls.__name__.lower()})"
    if name == "__getitem__":
        return f"{cls.__name__.lower()}[index]"
    if name.startswith("_"):
        return ""
    return _call(name, getattr(cls, name)) if callable(found) or isinstance(found, staticmethod) else name


def _attributes(init: ast.FunctionDef, lines: list[str]) -> Iterator[tuple[str, str]]:
    """(name, comment) of the attributes that `__init__` sets and that have one."""
    for item in init.body:
        target = item.target if isinstance(item, ast.AnnAssign) else getattr(item, "targets", [None])[0]
        comment = _comment(lines, item)
        if isinstance(target, ast.Attribute) and comment and not target.attr.startswith("_"):
            yield target.attr, comment


def _comment(lines: list[str], item: ast.stmt) -> str:
    return lines[(item.end_lineno or item.lineno) - 1].partition("  # ")[2]


def _call(name: str, function: object) -> str:
    """The function with its arguments, without types and without self."""
    assert callable(function)
    given = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for argument, parameter in inspect.signature(function).parameters.items()
        if argument != "self"
    ]
    return name + str(inspect.Signature(given))


def _module(module: ModuleType) -> str:
    rows = []
    for name in sorted(module.__all__, key=str.lower):
        found = getattr(module, name)
        if get_args(found):
            rows.append(_row(name, "one of " + ", ".join(f"`{value!r}`" for value in get_args(found))))
        else:
            rows.append(_row(name if isinstance(found, type) else _call(name, found), _summary(found)))
    return HEAD + "".join(rows)


def _summary(found: object) -> str:
    """The first paragraph of a docstring in one line."""
    target = found.fget if isinstance(found, property) else getattr(found, "func", found)
    return " ".join((inspect.getdoc(target) or "").partition("\n\n")[0].split())


def _row(name: str, said: str) -> str:
    return f"| `{name}` | {said.replace('|', chr(92) + '|')} |\n"
