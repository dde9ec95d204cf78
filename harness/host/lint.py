"""What a plugin class may not do: each fault is found when the class is made, and named."""

from __future__ import annotations

import difflib
import dis
import inspect
from typing import Any

from harness.errors import PluginError, nearest
from harness.hookspecs import HOOKS, HookSpecs
from harness.host.hidden import PASSING
from harness.host.markers import MARK

__all__ = ["ARGUMENTS", "check_class", "implementations"]

ARGUMENTS: dict[str, tuple[str, ...]] = {
    hook: tuple(inspect.signature(getattr(HookSpecs, hook)).parameters)[1:] for hook in HOOKS
}
_NEAR = 0.85  # how like a hook's name that of a helper must be to be taken for it; `kept` is not `keep`
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def implementations(cls: type) -> dict[str, str]:
    """The hooks that a class implements, inherited ones too: {hook: "plain" or "wrapper"}, in order of the step."""
    kinds = {}
    for hook in HOOKS:
        options = getattr(inspect.getattr_static(cls, hook, None), MARK, None)
        if options:
            kinds[hook] = "wrapper" if options["wrapper"] else "plain"
    return kinds


def check_class(cls: type) -> None:
    """Raise PluginError, naming class and method, if pluggy would silently ignore or misorder an implementation."""
    for owner in reversed(cls.__mro__[:-1]):
        if "__eq__" in vars(owner):
            raise PluginError(
                f"{cls.__name__}: {owner.__name__} defines __eq__, as @dataclass does, but plugins are compared by "
                "identity; leave it out, or write @dataclass(eq=False)"
            )
        for name, value in vars(owner).items():
            _check_attribute(cls, name, value)
    _check_made(cls)


def _check_attribute(cls: type, name: str, value: Any) -> None:
    where = f"{cls.__name__}.{name}"
    function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
    options = getattr(value, MARK, None) or getattr(function, MARK, None)
    if options is None:
        marks = getattr(function, "__dict__", {}) if callable(function) else {}
        foreign = next((key for key, mark in marks.items() if key.endswith("_impl") and isinstance(mark, dict)), None)
        if foreign:
            project = foreign.removesuffix("_impl")
            raise PluginError(f"{where} carries the hook marker of {project!r}; use `from harness import hookimpl`")
        if name in HOOKS:
            raise PluginError(
                f"{where} is named like a hook but not decorated, so it would never be called; "
                "add @hookimpl, or rename it"
            )
        _check_misspelt(cls, where, name, value)
        return
    if name not in HOOKS:
        raise PluginError(f"{where} is decorated with @hookimpl, but there is no hook {name!r}.{nearest(name, HOOKS)}")
    if not inspect.isfunction(value):
        raise PluginError(f"{where} must be an ordinary method (self first), not a {type(value).__name__}")
    _check_options(where, options)
    _check_signature(where, name, value)
    _check_kind(where, value, wrapper=options["wrapper"])
    if options["wrapper"] and name in PASSING and not _gives_something(value):
        raise PluginError(
            f"{where}: the wrapper never returns a value, so that it always passes None on; `return` what `yield` gave"
        )


def _check_misspelt(cls: type, where: str, name: str, value: Any) -> None:
    """A public function that takes what a hook takes under almost its name, in a class without that hook."""
    near = difflib.get_close_matches(name, HOOKS, n=1, cutoff=_NEAR)
    if not near or name.startswith("_") or not inspect.isfunction(value) or hasattr(cls, near[0]):
        return
    taken = [*inspect.signature(value).parameters][1:]
    if taken and set(taken) <= set(ARGUMENTS[near[0]]):
        raise PluginError(
            f"{where} is not decorated, so it would never be called; if it is the hook {near[0]!r}, spell it so and "
            "add @hookimpl, else rename it"
        )


def _check_made(cls: type) -> None:
    """`@method` makes how instances are set up: what the class has of its own would be skipped or replaced."""
    own = vars(cls)
    if "__dataclass_fields__" in own:
        return
    for name in ("__init__", "__setattr__"):
        if name in own:
            raise PluginError(
                f"{cls.__name__} defines {name}, which @method makes; a hyper-parameter is a field, state is set in "
                "the hook start, and __post_init__ may check fields"
            )


def _check_options(where: str, options: dict[str, Any]) -> None:
    for option in ("tryfirst", "trylast", "hookwrapper", "specname", "optionalhook"):
        if options.get(option):
            raise PluginError(f"{where}: hookimpl({option}=...) is not allowed; the order of the stack decides")


def _check_signature(where: str, hook: str, function: Any) -> None:
    known = ARGUMENTS[hook]
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or parameters[0].kind not in _POSITIONAL or parameters[0].name in known:
        raise PluginError(f"{where}: the first argument must be self, then what it needs of {', '.join(known)}")
    for parameter in parameters[1:]:
        if parameter.kind not in _POSITIONAL:
            raise PluginError(
                f"{where}: argument {parameter.name!r} must be positional; keyword-only arguments, *args and **kwargs "
                f"are never passed. The hook offers: {', '.join(known)}"
            )
        if parameter.default is not parameter.empty:
            raise PluginError(
                f"{where}: argument {parameter.name!r} must not have a default, it would never be passed; "
                "a hyper-parameter is a field of the class"
            )
        if parameter.name not in known:
            raise PluginError(
                f"{where}: the hook has no argument {parameter.name!r}.{nearest(parameter.name, known)}"
                f" It offers: {', '.join(known)}"
            )


def _gives_something(function: Any) -> bool:
    """Whether any `return` of a function gives something else than None; one that only raises counts as well."""
    gives = []
    before: dis.Instruction | None = None
    for step in dis.get_instructions(function):
        if step.opname == "RETURN_CONST":
            gives.append(step.argval is not None)
        elif step.opname == "RETURN_VALUE":
            gives.append(before is None or before.opname != "LOAD_CONST" or before.argval is not None)
        before = step
    return any(gives) or not gives


def _check_kind(where: str, function: Any, *, wrapper: bool) -> None:
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise PluginError(f"{where}: hooks are ordinary functions, not async ones")
    if wrapper and not inspect.isgeneratorfunction(function):
        raise PluginError(f"{where}: a wrapper needs one `yield`, which gives what lies below")
    if not wrapper and inspect.isgeneratorfunction(function):
        raise PluginError(f"{where} yields, so it must be a wrapper: @hookimpl(wrapper=True)")
