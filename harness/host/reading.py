"""Reading what a method says of itself from its source, without importing it or anything else."""

from __future__ import annotations

import ast
import dataclasses
import importlib.machinery
import inspect
import sys
from pathlib import Path
from typing import Any

from harness.hookspecs import HOOKS
from harness.host.api import CONSTANT

__all__ = ["Card", "Parameter", "find_source", "read_classes"]


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A hyper-parameter as the source spells it."""

    name: str
    type: str
    default: str


@dataclasses.dataclass(frozen=True)
class Card:
    """What the source of a method class says: decorator arguments, docstring, fields and hooks.

    `bases` names its parent classes as (module or "", class), for what it inherits; `stated` holds the decorator's
    arguments as source text; `twice` is "lines 3 and 20" where its file has several classes of the name.
    """

    attr: str
    doc: str
    parameters: tuple[Parameter, ...]
    hooks: dict[str, str]
    stated: dict[str, str]
    bases: tuple[tuple[str, str], ...]
    is_method: bool
    twice: str = ""

    def literal(self, name: str, default: Any = None) -> Any:
        """The value of a decorator argument, or the default where it is missing or not a literal."""
        try:
            return ast.literal_eval(self.stated[name])
        except (KeyError, ValueError, SyntaxError):
            return default

    def over(self, parent: Card) -> Card:
        """The same class with what it inherits from a parent."""
        own = {parameter.name for parameter in self.parameters}
        kept = tuple(
            next((mine for mine in self.parameters if mine.name == theirs.name), theirs) for theirs in parent.parameters
        )
        added = tuple(mine for mine in self.parameters if mine.name in own - {theirs.name for theirs in kept})
        inherited = {key: value for key, value in parent.stated.items() if key not in ("paper", "name")}
        hooks = parent.hooks | self.hooks
        return dataclasses.replace(
            self,
            parameters=kept + added,
            hooks={hook: hooks[hook] for hook in HOOKS if hook in hooks},
            stated=inherited | self.stated,
        )


def find_source(module: str, known: dict[str, Any] | None = None) -> Path | None:
    """The file of a module, found without importing it or its packages; None if there is none.

    known: where packages were found before, {package: its search locations}; it is added to.
    """
    places: dict[str, Any] = {} if known is None else known
    package, _, _ = module.rpartition(".")
    parts = module.split(".")
    for end in range(1, len(parts)):
        name = ".".join(parts[:end])
        if name not in places:
            spec = _spec(name, places[".".join(parts[: end - 1])] if end > 1 else None)
            places[name] = spec.submodule_search_locations if spec else None
        if places[name] is None:
            return None
    spec = _spec(module, places[package] if package else None)
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def _spec(name: str, path: Any) -> importlib.machinery.ModuleSpec | None:
    return next((found for finder in sys.meta_path if (found := _found(finder, name, path))), None)


def _found(finder: Any, name: str, path: Any) -> importlib.machinery.ModuleSpec | None:
    try:
        return finder.find_spec(name, path)
    except (ImportError, AttributeError, ValueError):
        return None


def read_classes(
    source: str, package: str = "", file: str = "<unknown>"
) -> tuple[dict[str, Card], dict[str, tuple[str, str]]]:
    """The cards of all top-level classes of a source text, and {local name: (module, name)} of its unguarded imports.

    package: the name of the package that the module is in, against which relative imports are resolved; file: named
    by a SyntaxError. The range of host APIs that the module states is taken for every class that states none.
    """
    tree = ast.parse(source, file)
    imported = _imports(tree, package)
    shared = _host_api(tree)
    cards: dict[str, Card] = {}
    lines: dict[str, int] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            card, before = _card(node, imported, shared), cards.get(node.name)
            if before and before.is_method:  # Python would take the later one without a word
                card = dataclasses.replace(before, twice=f"lines {lines[node.name]} and {node.lineno}")
            cards[node.name], lines[node.name] = card, node.lineno
    return cards, imported


def _host_api(tree: ast.Module) -> dict[str, str]:
    """The module's `HOST_API = ">=1,<2"`, annotated or not, as a decorator argument."""
    for node in tree.body:
        targets = [*getattr(node, "targets", ()), getattr(node, "target", None)]
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        value = getattr(node, "value", None)
        if CONSTANT in names and isinstance(value, ast.Constant) and isinstance(value.value, str):
            return {"host_api": ast.unparse(value)}
    return {}


def _imports(tree: ast.Module, package: str) -> dict[str, tuple[str, str]]:
    """{local name: (module, name in it)} of the module's top-level imports."""
    found: dict[str, tuple[str, str]] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {(alias.asname or alias.name.split(".")[0]): (alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            above = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, (above, node.module)))
            found |= {(alias.asname or alias.name): (module, alias.name) for alias in node.names}
    return found


def _card(node: ast.ClassDef, imported: dict[str, tuple[str, str]], shared: dict[str, str]) -> Card:
    decorator = next((item for item in node.decorator_list if _name(item) == "method"), None)
    stated = dict(shared) if decorator else {}
    if isinstance(decorator, ast.Call):
        stated |= {str(keyword.arg): ast.unparse(keyword.value) for keyword in decorator.keywords}
    return Card(
        attr=node.name,
        doc=inspect.cleandoc(ast.get_docstring(node) or ""),
        parameters=tuple(_parameters(node)),
        hooks=_hooks(node),
        stated=stated,
        bases=tuple(imported.get(name, ("", name)) for base in node.bases if (name := _name(base))),
        is_method=decorator is not None,
    )


def _parameters(node: ast.ClassDef) -> list[Parameter]:
    return [
        Parameter(item.target.id, ast.unparse(item.annotation), ast.unparse(item.value) if item.value else "")
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
        if "ClassVar" not in ast.unparse(item.annotation)
    ]


def _hooks(node: ast.ClassDef) -> dict[str, str]:
    kinds = {}
    for item in node.body:
        if isinstance(item, ast.FunctionDef):
            for decorator in item.decorator_list:
                if _name(decorator) == "hookimpl":
                    kinds[item.name] = "wrapper" if _wraps(decorator) else "plain"
    return {hook: kinds[hook] for hook in HOOKS if hook in kinds}


def _wraps(decorator: ast.expr) -> bool:
    """Whether it says wrapper=True, or something that is no literal."""
    said = next((key.value for key in getattr(decorator, "keywords", ()) if key.arg == "wrapper"), None)
    return said is not None and getattr(said, "value", True) is not False


def _name(node: ast.expr) -> str:
    """The last part of a dotted name, of a call too: `harness.method(...)` is method."""
    if isinstance(node, ast.Call):
        return _name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
