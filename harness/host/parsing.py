"""Reading and spelling stacks: `dapo+f-grpo(gamma=2)`. Values are Python literals; nothing is imported."""

from __future__ import annotations

import ast
import dataclasses
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from harness.errors import UsageError

__all__ = ["PluginSpec", "parse_stack", "spell_stack", "spell_value", "split_methods"]

_PLUGIN = re.compile(
    r"\s*(?P<name>[A-Za-z0-9][\w.-]*)(?:@(?P<distribution>[\w.-]+))?\s*(?P<params>\(.*\))?\s*", re.DOTALL
)
_CONSTANTS = {"true": "True", "false": "False", "null": "None", "none": "None", "inf": "1e999"}
_OPENING, _CLOSING, _QUOTES = "([{", ")]}", "'\""


@dataclasses.dataclass(frozen=True)
class PluginSpec:
    """One plugin of a stack, as written: its name, its parameters, and the distribution where the name is ambiguous."""

    name: str
    params: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    distribution: str | None = None

    def __str__(self) -> str:
        """`name@distribution(a=1, b='x')` with the parameters sorted."""
        text = self.name if self.distribution is None else f"{self.name}@{self.distribution}"
        if self.params:
            text += f"({', '.join(f'{key}={spell_value(self.params[key])}' for key in sorted(self.params))})"
        return text


def parse_stack(text: str) -> tuple[PluginSpec, ...]:
    """The plugins of a stack string, left to right, as written. Raises UsageError with what is wrong and where."""
    return tuple(_plugin(part, text) for part in _split(text, "+"))


def split_methods(text: str) -> list[str]:
    """The stacks of a comma-separated list; commas inside parentheses or quotes do not split."""
    return [part.strip() for part in _split(text, ",") if part.strip()]


def spell_stack(specs: Iterator[PluginSpec] | tuple[PluginSpec, ...] | list[PluginSpec]) -> str:
    """The stack string of the given plugins."""
    return "+".join(map(str, specs))


def spell_value(value: Any) -> str:
    """The literal for a parameter; whole floats are spelled as integers, so that 2 and 2.0 are one name."""
    if isinstance(value, float) and not isinstance(value, bool):
        if math.isinf(value):
            return "1e999" if value > 0 else "-1e999"  # the literal that reads as infinity
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(spell_value, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(map(spell_value, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{spell_value(key)}: {spell_value(item)}" for key, item in value.items()) + "}"
    return repr(value)


def _plugin(part: str, text: str) -> PluginSpec:
    found = _PLUGIN.fullmatch(part)
    if not found:
        raise UsageError(
            f"cannot read {part.strip()!r} in the stack {text!r}; write name(parameter=value)+name, such as "
            "'dapo+f-grpo(gamma=2)'"
        )
    params = _params(found["params"] or "()", part.strip())
    return PluginSpec(found["name"].lower(), params, found["distribution"])


def _params(arguments: str, part: str) -> dict[str, Any]:
    try:
        call = ast.parse(f"f{arguments}", mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise UsageError(
            f"cannot read the parameters of {part!r}: {error.args[0]}; values are Python literals"
        ) from None
    named = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)  # one pair of parentheses, not two
    if not isinstance(call, ast.Call) or not named or call.args or any(word.arg is None for word in call.keywords):
        raise UsageError(f"cannot read the parameters of {part!r}; each is written name=value")
    params: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg in params:
            raise UsageError(f"{keyword.arg} is repeated in {part!r}")
        try:
            params[str(keyword.arg)] = ast.literal_eval(keyword.value)
        except (ValueError, TypeError):
            value = ast.unparse(keyword.value)
            raise UsageError(
                f"{keyword.arg}={value} in {part!r} is not a Python literal{_hint(keyword, value)}"
            ) from None
    return params


def _hint(keyword: ast.keyword, value: str) -> str:
    """What the author of a bare word may have meant."""
    if not isinstance(keyword.value, ast.Name):
        return ""
    python = _CONSTANTS.get(value.lower())
    return f"; write {keyword.arg}={python}" if python else f"; a string needs quotes: {keyword.arg}='{value}'"


def _split(text: str, separator: str) -> Iterator[str]:
    """Parts of the text between separators that stand outside brackets and quotes."""
    depth, start, quote, escaped = 0, 0, "", False
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote and not escaped else quote
            escaped = character == "\\" and not escaped
        elif character in _QUOTES:
            quote = character
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif character == separator and depth == 0:
            yield text[start:position]
            start = position + 1
    if depth or quote:
        raise UsageError(f"unbalanced brackets or quotes in {text!r}")
    yield text[start:]
