"""`MethodInfo`: what `@method` was told of a class and what the class says for itself, checked."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Collection
from typing import Any, Literal

from harness.errors import PluginError, nearest
from harness.host.claims import Claims
from harness.host.ranges import Range

__all__ = ["NEEDS", "SLUG", "MethodInfo", "Needs", "Scope", "check_info", "needs_of", "scope_of", "slug_of"]

NEEDS = ("reference", "entropy", "hidden", "top_logits", "greedy")

SLUG = r"[a-z0-9][a-z0-9._-]*"  # how a method is called in stacks

Scope = Literal["batch", "group"]
Needs = Collection[str] | Callable[[Any], Collection[str]]


@dataclasses.dataclass(frozen=True)
class MethodInfo:
    """What `@method` was told, and what the class says for itself.

    `needs` is a set of names or a function of the instance; `hooks` maps each implemented hook to "plain" or
    "wrapper"; `scope` says on which completions results depend ("group": on those of the group alone, and on
    no step before, weights of `aggregate` apart, which always are of a batch; "batch": on all), a word or a function of
    the instance;
    `clips` marks methods whose clip takes the gradient of a token away: only those can be called inert, where no token
    was clipped (a cap that keeps the gradient, as CISPO's, does not count); `direct` those whose loss scores
    other tokens with gradient, and so needs the whole graph in one pass; `claims` are what `harness check` goes by;
    `search` the ranges in which suites with tuning look for its parameters.
    """

    slug: str
    paper: str | None
    base: str | None
    needs: Needs
    experimental: bool
    scope: Scope | Callable[[Any], Scope]
    clips: bool
    direct: bool
    host_api: str | None
    claims: Claims
    doc: str
    hooks: dict[str, str]
    search: dict[str, Range] = dataclasses.field(default_factory=dict)

    @property
    def only_wraps(self) -> bool:
        """Whether no hook is implemented plainly."""
        return all(kind == "wrapper" for kind in self.hooks.values())


def needs_of(plugin: Any) -> frozenset[str]:
    """The needs of an instance. Raises PluginError for a name that no loop knows."""
    info: MethodInfo = type(plugin).info
    needs = info.needs(plugin) if callable(info.needs) else info.needs
    _check_needs(type(plugin), needs)
    return frozenset(needs)


def scope_of(plugin: Any) -> Scope:
    """The scope of an instance. Raises PluginError for one that does not exist."""
    info: MethodInfo = type(plugin).info
    scope = info.scope(plugin) if callable(info.scope) else info.scope
    _check_scope(type(plugin), scope)
    return scope


def _check_scope(cls: type, scope: Any) -> None:
    if scope not in ("batch", "group"):
        raise PluginError(f"{cls.__name__}: scope must be 'batch' or 'group', not {scope!r}")


def slug_of(class_name: str) -> str:
    """The kebab-case name of a class: `MyMethod` is my-method, `GDPO` is gdpo, `DrGRPO` is dr-grpo."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", class_name)
    return words.replace("_", "-").strip("-").lower()


def _check_needs(cls: type, needs: Any) -> None:
    if isinstance(needs, str) or not isinstance(needs, Collection):
        raise PluginError(f"{cls.__name__}: needs must be a set of names out of {', '.join(NEEDS)}, not {needs!r}")
    for need in needs:
        if need not in NEEDS:
            raise PluginError(f"{cls.__name__}: unknown need {need!r}.{nearest(str(need), NEEDS)}")


def check_info(cls: type, info: MethodInfo) -> None:
    """Raise PluginError for decorator arguments or field defaults that cannot be."""
    where = cls.__name__
    if not re.fullmatch(SLUG, info.slug):
        raise PluginError(f"{where}: the name {info.slug!r} cannot be written in a stack; use a-z, 0-9 and -")
    if not callable(info.needs):
        _check_needs(cls, info.needs)
    if not callable(info.scope):
        _check_scope(cls, info.scope)
    for label, value in (("paper", info.paper), ("base", info.base)):
        if value is not None and not isinstance(value, str):
            raise PluginError(f"{where}: {label} must be a string, not {value!r}")
    info.claims.check_fields(cls)
    for field in dataclasses.fields(cls):
        if field.default is dataclasses.MISSING or not _is_literal(field.default):
            raise PluginError(
                f"{where}.{field.name}: every hyper-parameter needs a default that is a Python literal "
                "(number, string, bool, None, or a tuple of those): the published value"
            )


def _is_literal(value: Any) -> bool:
    try:
        ast.literal_eval(repr(value))
    except (ValueError, SyntaxError):
        return isinstance(value, float)  # inf has no literal of its own
    return True
