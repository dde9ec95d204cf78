"""`@method`: turns a class into a method plugin, a keyword-only dataclass compared by identity."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, dataclass_transform, overload

from harness.errors import PluginError, UnusablePlugin, nearest
from harness.hookspecs import HOOKS
from harness.host.api import CONSTANT, mismatch
from harness.host.claims import NOTHING, Claims, Neutral
from harness.host.info import MethodInfo, Needs, Scope, check_info, slug_of
from harness.host.lint import check_class, implementations
from harness.host.ranges import inherited_search, read_search

__all__ = ["method"]

Class = TypeVar("Class", bound=type)

_INHERIT: Any = type("Inherit", (), {"__repr__": lambda self: "inherited"})()  # noqa: ARG005


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
    search: Mapping[str, Any] | None = None,
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
    search: Any = _INHERIT,
    **unknown: Any,
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

    What suites with `tuning:` go by: search, where its parameters are searched for, whatever the suite:
    `search={"clip": (0.1, 0.4), "beta": (1e-3, 0.3, "log"), "kind": ["k1", "k3"]}`; a literal too.

    What a subclass of a method leaves out (paper and name apart) is its parent's. Raises PluginError for everything
    that a plugin may not do, see `harness.host.lint`.
    """
    if cls is not None and not isinstance(cls, type):
        raise PluginError(f"@method stands over a class and takes named arguments, @method(base='grpo'), not {cls!r}")

    def decorate(target: Class) -> Class:
        for argument in unknown:
            known = (name for name in inspect.signature(method).parameters if name not in ("cls", "unknown"))
            raise PluginError(f"{target.__name__}: @method has no argument {argument!r}.{nearest(argument, known)}")
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
            search=inherited_search(made, parent.search if parent else {})
            if search is _INHERIT
            else read_search(made, search or {}),
        )
        check_info(made, info)
        made.info = info
        return made

    return decorate if cls is None else decorate(cls)


def _api_of(cls: type, parent: MethodInfo | None) -> str | None:
    """The host APIs that the class's module states, else those of its parent."""
    stated = getattr(sys.modules.get(cls.__module__), CONSTANT, None)
    if isinstance(stated, str):
        return stated
    return parent.host_api if parent else None


def _claims(cls: type, parent: MethodInfo | None, claimed: Mapping[str, Any]) -> Claims:
    """The claims of a class, with its parent's where the decorator leaves one out."""
    inherited = NOTHING if parent is None else parent.claims
    return Claims.read(
        cls, {name: getattr(inherited, name) if value is _INHERIT else value for name, value in claimed.items()}
    )


def _frozen_fields(cls: Any) -> Any:
    """Let hyper-parameters be set once, by `__init__`; any other attribute is state and may change."""
    names = frozenset(field.name for field in dataclasses.fields(cls))

    def set_attribute(self: Any, name: str, value: Any) -> None:
        if name in names and name in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__}.{name} is a hyper-parameter and read-only; keep state under another name"
            )
        if name in HOOKS:
            raise AttributeError(
                f"{type(self).__name__}.{name} is set on the instance, where no hook is looked for; define it in the "
                "class with @hookimpl, or keep state under another name"
            )
        object.__setattr__(self, name, value)

    cls.__setattr__ = set_attribute
    return cls
