"""Running one program on its inputs, inside a process that may be lost."""

from __future__ import annotations

import builtins
import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from . import streams, vet

__all__ = ["run", "run_vetted"]

MAX_ERROR = 200
MAX_STRING = 10_000


def run_vetted(kind: str, source: str, inputs: Sequence[Sequence[Any]]) -> str | None:
    """The JSON outcome of a program that passes the vet; None where it needs a process of its own."""
    if kind == "stream":
        return None
    source = source.strip()
    bits = 1
    for arguments in inputs:
        for value in arguments:
            if type(value) is not int:
                return None
            bits = max(bits, value.bit_length())
    try:
        code = vet.vet(kind, source, bits, max(map(len, inputs), default=0))
    except vet.Unvetted:
        return None
    except (SyntaxError, ValueError) as error:
        return _encode([None] * len(inputs), _describe(error))
    return _outcome(kind, code, inputs, dict(vet.CALLS))


def run(kind: str, source: str, inputs: Sequence[Sequence[Any]]) -> str:
    """The JSON outcome of any program: `[values, error]`, a value being None where its input failed."""
    try:
        code = compile(source.strip(), "<program>", "eval" if kind == "expression" else "exec", dont_inherit=True)
    except BaseException as error:  # noqa: BLE001
        return _encode([None] * len(inputs), _describe(error))
    return _outcome(kind, code, inputs, vars(builtins))


def _outcome(kind: str, code: Any, inputs: Sequence[Sequence[Any]], names: dict[str, Any]) -> str:
    values: list[Any] = [None] * len(inputs)
    fault: str | None = None
    try:
        call = _callable(kind, code, {"__builtins__": names, "__name__": "program"})
    except BaseException as error:  # noqa: BLE001
        return _encode(values, _describe(error))
    for i, arguments in enumerate(inputs):
        try:
            values[i] = _scalar(call(arguments))
        except BaseException as error:  # noqa: BLE001
            fault = fault or _describe(error)
    return _encode(values, fault)


def _callable(kind: str, code: Any, scope: dict[str, Any]) -> Callable[[Sequence[Any]], Any]:
    """What to call with the list of arguments."""
    if kind == "expression":

        def evaluate(arguments: Sequence[Any]) -> Any:
            local = dict(zip(vet.ARGUMENT_NAMES, arguments, strict=False))
            return eval(code, {**scope, **local})  # noqa: S307

        return evaluate
    if kind == "stream":
        return streams.Run(code)
    exec(code, scope)  # noqa: S102
    function = scope.get("f")
    if not callable(function):
        raise NameError("the program defines no function f")  # noqa: TRY004 (the program's fault, as Python names it)
    return lambda arguments: function(*arguments)


def _scalar(value: Any) -> Any:
    """`value` if JSON can carry it exactly; raises TypeError or ValueError otherwise."""
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        if value.bit_length() > 2 * vet.MAX_BITS:
            raise ValueError("the result has too many digits")
        return value
    if kind is float:
        if not math.isfinite(value):
            raise ValueError(f"the result is {value}")
        return value
    if kind is str:
        if len(value) > MAX_STRING:
            raise ValueError("the result is too long")
        return value
    raise TypeError(f"the result is a {kind.__name__}, not a number, string, bool or None")


def _describe(error: BaseException) -> str:
    try:
        text = " ".join(str(error).split())
    except BaseException:  # noqa: BLE001
        text = ""
    return f"{type(error).__name__}: {text}"[:MAX_ERROR]


def _encode(values: list[Any], error: str | None) -> str:
    return json.dumps([values, error])
