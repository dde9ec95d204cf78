"""Reading and writing YAML as version 1.2 has it: `1e-4` is a number, `no` is a string, `010` is ten.

PyYAML has version 1.1, where `1e-4` is a string, `no` is false, `1:30` is ninety and a repeated key silently wins.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from harness.errors import UsageError

__all__ = ["Lines", "dump", "load", "parse"]

Lines = dict[tuple[str | int, ...], int]  # path of keys -> 1-based line

_INT = r"[-+]?[0-9][0-9_]*|0o[0-7]+|0x[0-9a-fA-F]+"
_FLOAT = r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"


class _Loader(yaml.SafeLoader):
    """SafeLoader with the core schema of YAML 1.2 (and `_` between digits); repeated keys are errors."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        """As the parent's, refusing a key that comes twice."""
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} comes twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


class _Dumper(yaml.SafeDumper):
    """SafeDumper that quotes exactly what the loader above would read as something else."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        """Indent lists inside mappings, as the bundled suites do."""
        return super().increase_indent(flow, indentless=False)


def _parse_int(loader: _Loader, node: yaml.ScalarNode) -> int:
    text = loader.construct_scalar(node).replace("_", "")
    return int(text, 10 if text.lstrip("+-").isdigit() else 0)


def _parse_float(loader: _Loader, node: yaml.ScalarNode) -> float:
    text = loader.construct_scalar(node).replace("_", "").lower()
    return float(text.replace(".", "") if text.endswith((".inf", ".nan")) else text)


for _class in (_Loader, _Dumper):
    _tag = "tag:yaml.org,2002:"
    _class.add_implicit_resolver(_tag + "null", re.compile(r"(~|null|Null|NULL|)$"), ["~", "n", "N", ""])
    _class.add_implicit_resolver(_tag + "bool", re.compile(r"([tT]rue|TRUE|[fF]alse|FALSE)$"), list("tTfF"))
    _class.add_implicit_resolver(_tag + "int", re.compile(f"({_INT})$"), list("-+0123456789"))
    _class.add_implicit_resolver(_tag + "float", re.compile(f"({_FLOAT})$"), list("-+.0123456789"))
    _class.add_implicit_resolver(_tag + "merge", re.compile(r"(<<)$"), ["<"])
_Loader.add_constructor("tag:yaml.org,2002:int", _parse_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _parse_float)


def load(file: Path) -> tuple[Any, Lines]:
    """The content of a YAML file and the line of every key and item. Raises UsageError naming file and line."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read ({error.__class__.__name__})") from error
    return parse(text, str(file))


def parse(text: str, where: str) -> tuple[Any, Lines]:
    """As `load`, from text; `where` names it in errors."""
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        data = None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UsageError(f"{where}{line}: not valid YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"{where}: not valid YAML: {' '.join(str(error).split())}") from error
    finally:
        loader.dispose()
    lines: Lines = {}
    _collect(node, (), lines)
    return data, lines


def _collect(node: Any, path: tuple[str | int, ...], lines: Lines) -> None:
    """Note the line of every key and item below `node`."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            lines[(*path, key.value)] = key.start_mark.line + 1
            _collect(value, (*path, key.value), lines)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            lines[(*path, index)] = item.start_mark.line + 1
            _collect(item, (*path, index), lines)


def dump(data: Any) -> str:
    """YAML text that `parse` reads back to equal data; keys keep their order."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120, default_flow_style=False)
