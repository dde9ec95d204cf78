"""`@method`: turns a class into a method plugin, a keyword-only dataclass compared by identity."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, TypeVar, dataclass_transform, overload

from harness.errors import PluginError, UnusablePlugin, nearest
from harness.host.api import CONSTANT, mismatch
from harness.host.claims import NOTHING, Claims, Neutral
from harness.host.lint import check_class, implementations

__all__ = ["NEEDS", "MethodInfo", "method", "needs_of", "scope_of", "slug_of"]

NEEDS = ("reference", "entropy", "hidden", "top_logits", "greedy")

Class = TypeVar("Class", bound=type)
Scope = Literal["batch", "group"]
Needs = Collection[str] | Callable[[Any], Collection[str]]

_INHERIT: Any = type("Inherit", (), {"__repr__": lambda self: "inherited"})()  # noqa: ARG005


@dataclasses.dataclass(frozen=True)
class MethodInfo:
    """What `@method` was told, and what the class says for itself.

    `needs` is a set of names or a function of the instance; `hooks` maps each implemented hook to "plain" or
    "wrapper"; `scope` says over which completions the method computes ("group": those of one group; "batch": all),
    a word or a function of the instance;
    `clips` marks methods whose clip takes the gradient of a token away: only those can be called inert, where no token
    was clipped (a cap that keeps the gradient, as CISPO's, does not count); `direct` those whose loss scores
    other tokens with gradient, and so needs the whole graph in one pass; `claims` are what `harness check` goes by.
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

    @property
    def only_wraps(self) -> bool:
        """Whether no hook is implemented plainly."""
        return all(kind == "wrapper" for kind in self.hooks.values())


@overload
def method(cls: Class, /) -> Class: ...
@overload
def method(
    *,
    paper: str | None = None,
    base: str | None = None,
    needs: Needs = frozenset(),
    experimental: bool = False,
    scope: Scope | Callable[[Any], Scope] = "batch",
    clips: bool = False,
    direct: bool = False,
    name: str | None = None,
    host_api: str | None = None,
    neutral: Neutral = (),
    neutral_to: str | Sequence[str | None] | None = None,
    active: Mapping[str, Any] | None = None,
    identity: bool = False,
    conflicts: Sequence[str] = (),
    exempt: Mapping[str, str] | None = None,
) -> Callable[[Class], Class]: ...
@dataclass_transform(kw_only_default=True, eq_default=False)
def method(
    cls: Any = None,
    /,
    *,
    paper: Any = None,
    base: Any = _INHERIT,
    needs: Any = _INHERIT,
    experimental: Any = _INHERIT,
    scope: Any = _INHERIT,
    clips: Any = _INHERIT,
    direct: Any = _INHERIT,
    name: str | None = None,
    host_api: Any = _INHERIT,
    neutral: Any = _INHERIT,
    neutral_to: Any = _INHERIT,
    active: Any = _INHERIT,
    identity: Any = _INHERIT,
    conflicts: Any = _INHERIT,
    exempt: Any = _INHERIT,
) -> Any:
    """Make a class a method plugin.

    paper: arXiv id or DOI; base: the stack it stands on when it is the first of a stack; needs: what the loop must
    compute for it, a set out of `NEEDS` or a function of the instance; name: its slug where no entry point gives one;
    host_api: the host APIs that it works with, ">=1,<2"; a constant HOST_API of its module says so for all in it.

    What `harness check` goes by, literals all:

    - neutral: parameters with which the method is exactly what it builds on, `neutral={"alpha": 0.0}`, or a tuple of
      such dicts; parameters left out keep their defaults.
    - neutral_to: the stack that they give where that is not the base (without a base: the harness's defaults),
      `neutral_to="grpo(beta=0)"`, or a tuple with one stack, or None for the base, for each dict.
    - active: parameters with which it acts at once, where the published ones act on rare batches or late:
      `active={"target": 10.0}`.
    - identity: True for a control that changes nothing; it is checked to be one.
    - conflicts: slugs that cannot stand in one stack with it; such a stack is refused.
    - exempt: {check: why it cannot hold}, `exempt={"permutation": "of tied rows the first is taken"}`; the report shows
      the reason. `harness.conformance.EXEMPTIBLE` names the checks that may be exempted.

    What a subclass of a method leaves out (paper and name apart) is its parent's. Raises PluginError for everything
    that a plugin may not do, see `harness.host.lint`.
    """

    def decorate(target: Class) -> Class:
        parent: MethodInfo | None = getattr(target, "info", None)

        def given(field: str, value: Any, default: Any) -> Any:
            inherited = default if parent is None else getattr(parent, field)
            return inherited if value is _INHERIT else value

        claimed = {
            "neutral": neutral, "neutral_to": neutral_to, "active": active, "identity": identity,
            "conflicts": conflicts, "exempt": exempt,
        }  # fmt: skip
        wanted = _api_of(target, parent) if host_api is _INHERIT else host_api
        refusal = mismatch(wanted)
        if refusal:
            raise UnusablePlugin(f"{target.__name__} {refusal}")
        check_class(target)
        made = _frozen_fields(dataclasses.dataclass(kw_only=True, eq=False)(target))
        info = MethodInfo(
            slug=name or slug_of(target.__name__),
            paper=paper,
            base=given("base", base, None),
            needs=given("needs", needs, frozenset()),
            experimental=given("experimental", experimental, False),
            scope=given("scope", scope, "batch"),
            clips=given("clips", clips, False),
            direct=given("direct", direct, False),
            host_api=wanted,
            claims=_claims(target, parent, claimed),
            doc=inspect.cleandoc(target.__doc__ or ""),
            hooks=implementations(target),
        )
        _check_info(made, info)
        made.info = info
        return made

    return decorate if cls is None else decorate(cls)


def needs_of(plugin: Any) -> frozenset[str]:
    """The needs of an instance. Raises PluginError for a name that no loop knows."""
    info: MethodInfo = type(plugin).info
    needs = info.needs(plugin) if callable(info.needs) else info.needs
    _check_needs(type(plugin), needs)
    return frozenset(needs)


def _api_of(cls: type, parent: MethodInfo | None) -> str | None:
    """The host APIs that the class's module states, else those of its parent."""
    stated = getattr(sys.modules.get(cls.__module__), CONSTANT, None)
    if isinstance(stated, str):
        return stated
    return parent.host_api if parent else None


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


def _claims(cls: type, parent: MethodInfo | None, claimed: Mapping[str, Any]) -> Claims:
    """The claims of a class, with its parent's where the decorator leaves one out."""
    inherited = NOTHING if parent is None else parent.claims
    return Claims.read(
        cls, {name: getattr(inherited, name) if value is _INHERIT else value for name, value in claimed.items()}
    )


def _check_info(cls: type, info: MethodInfo) -> None:
    """Raise PluginError for decorator arguments or field defaults that cannot be."""
    where = cls.__name__
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


def _frozen_fields(cls: Any) -> Any:
    """Let hyper-parameters be set once, by `__init__`; any other attribute is state and may change."""
    names = frozenset(field.name for field in dataclasses.fields(cls))

    def set_attribute(self: Any, name: str, value: Any) -> None:
        if name in names and name in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__}.{name} is a hyper-parameter and read-only; keep state under another name"
            )
        object.__setattr__(self, name, value)

    cls.__setattr__ = set_attribute
    return cls
