"""Which programs are plain bounded arithmetic, and may therefore share a process with others.

A vetted program has no loop, no attribute, no name but its arguments, its locals and a few arithmetic functions, and
every number in it stays below `MAX_BITS` bits whatever the inputs are: it ends soon, allocates little, touches nothing
and leaves nothing behind. Everything else is not refused but runs in a process of its own.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Sequence

__all__ = ["ARGUMENT_NAMES", "Unvetted", "vet"]

ARGUMENT_NAMES = ("x", "y", "z", "w")  # what an expression calls its first, second, ... argument
MAX_SOURCE = 2000
MAX_BITS = 4096
FLOAT_BITS = 1100
CALLS = {"abs": abs, "min": min, "max": max, "int": int, "bool": bool}
PLAIN_ANNOTATIONS = {"int", "float", "bool", "str"}
BUILTIN_NAMES = frozenset(dir(builtins))


class Unvetted(Exception):  # noqa: N818
    """The program may be fine, but it is not plain bounded arithmetic."""


def vet(kind: str, source: str, argument_bits: int, arity: int) -> types.CodeType:
    """The code of a vetted program, to be run with `CALLS` as its only builtins.

    An expression compiles for eval, a function (the source defines `f`) for exec. `argument_bits` bounds the inputs.
    Raises Unvetted, or SyntaxError and ValueError where the source is not Python at all.
    """
    if len(source) > MAX_SOURCE:
        raise Unvetted
    try:
        if kind == "expression":
            expression = ast.parse(source, mode="eval")
            _Bounds(dict.fromkeys(ARGUMENT_NAMES[:arity], argument_bits)).number(expression.body)
            return compile(expression, "<program>", "eval")
        module = ast.parse(source)
        _function(module, argument_bits)
        return compile(module, "<program>", "exec")
    except (RecursionError, MemoryError) as error:
        raise Unvetted from error


def _function(module: ast.Module, argument_bits: int) -> None:
    """Check `def f(x): ...` or `f = lambda x: ...`, and strip plain annotations."""
    if len(module.body) != 1:
        raise Unvetted
    function = module.body[0]
    if isinstance(function, ast.Assign) and isinstance(function.value, ast.Lambda):
        names = [target.id for target in function.targets if isinstance(target, ast.Name)]
        if names != ["f"] or len(function.targets) != 1:
            raise Unvetted
        arguments = _plain(function.value.args)
        _Bounds(dict.fromkeys(arguments, argument_bits)).number(function.value.body)
        return
    if not isinstance(function, ast.FunctionDef) or function.name != "f" or function.decorator_list:
        raise Unvetted
    if getattr(function, "type_params", None):
        raise Unvetted
    a = function.args
    arguments = _plain(a)
    for annotation in [function.returns, *(argument.annotation for argument in a.args)]:
        if annotation is not None and not (isinstance(annotation, ast.Name) and annotation.id in PLAIN_ANNOTATIONS):
            raise Unvetted
    function.returns = None
    for argument in a.args:
        argument.annotation = None
    bounds = _Bounds(dict.fromkeys(arguments, argument_bits))
    bounds.names |= {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and _stored(node)}
    if bounds.names & set(CALLS):
        raise Unvetted
    bounds.block(function.body)


def _plain(arguments: ast.arguments) -> list[str]:
    """The names of positional arguments; Unvetted for any other kind, and for names that hide a function."""
    a = arguments
    if a.vararg or a.kwarg or a.kwonlyargs or a.defaults or a.kw_defaults or a.posonlyargs:
        raise Unvetted
    names = [argument.arg for argument in a.args]
    if set(names) & set(CALLS):
        raise Unvetted
    return names


def _stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


class _Bounds:
    """Walks a program once and bounds the bit length of every value in it."""

    def __init__(self, bits: dict[str, int]) -> None:
        self.bits = bits
        self.names = set(bits)

    # -- statements ----------------------------------------------------------------------------------------------

    def block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Return):
            if node.value is not None:
                self.number(node.value)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self.bits[node.targets[0].id] = self.number(node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            left = ast.Name(node.target.id, ast.Load())
            self.bits[node.target.id] = self.number(ast.BinOp(left, node.op, node.value))
        elif isinstance(node, ast.If):
            self.number(node.test)
            before = dict(self.bits)
            self.block(node.body)
            after, self.bits = self.bits, before
            self.block(node.orelse)
            self.bits = {name: max(after.get(name, 0), self.bits.get(name, 0)) for name in after | self.bits}
        elif not isinstance(node, ast.Pass) and not (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            raise Unvetted

    # -- expressions ---------------------------------------------------------------------------------------------

    def number(self, node: ast.expr) -> int:
        """A bound on the bit length of the value of `node`; Unvetted where it is no number or has no small bound."""
        bits = self._number(node)
        if bits > MAX_BITS:
            raise Unvetted
        return bits

    def _number(self, node: ast.expr) -> int:
        if isinstance(node, ast.Constant):
            return self._constant(node.value)
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        if isinstance(node, ast.UnaryOp):
            return self.number(node.operand) + 1
        if isinstance(node, ast.BoolOp):
            return max(self.number(value) for value in node.values)
        if isinstance(node, ast.IfExp):
            self.number(node.test)
            return max(self.number(node.body), self.number(node.orelse))
        if isinstance(node, ast.Compare):
            return self._comparison(node)
        if isinstance(node, ast.Subscript):
            self.number(node.slice)
            return self.display(node.value)
        if isinstance(node, ast.Call):
            return self._call(node)
        raise Unvetted

    def _constant(self, value: object) -> int:
        if isinstance(value, int):  # bool too
            return value.bit_length()
        if isinstance(value, float):
            return FLOAT_BITS
        raise Unvetted

    def _name(self, name: str) -> int:
        if name in self.names:
            return self.bits.get(name, 1)  # read before it is bound: an error when it runs
        if name in BUILTIN_NAMES or name.startswith("__") or name == "f":
            raise Unvetted
        return 1  # unknown: a NameError when it runs

    def _operation(self, node: ast.BinOp) -> int:  # a line per operator
        left = self.number(node.left)
        op = node.op
        if isinstance(op, ast.Pow | ast.LShift):
            power = node.right.value if isinstance(node.right, ast.Constant) else None
            if type(power) is not int or not 0 <= power <= 64:
                raise Unvetted
            return left * power + 1 if isinstance(op, ast.Pow) else left + power
        right = self.number(node.right)
        if isinstance(op, ast.Add | ast.Sub | ast.BitAnd | ast.BitOr | ast.BitXor):
            return max(left, right) + 1
        if isinstance(op, ast.Mult):
            return left + right
        if isinstance(op, ast.FloorDiv | ast.Mod | ast.RShift):
            return max(left, right) + 1
        if isinstance(op, ast.Div):
            return max(left, right, FLOAT_BITS)
        raise Unvetted

    def _comparison(self, node: ast.Compare) -> int:
        self.number(node.left)
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.In | ast.NotIn):
                self.display(right)
            else:
                self.number(right)
        return 1

    def _call(self, node: ast.Call) -> int:
        if node.keywords or not node.args:
            raise Unvetted
        if isinstance(node.func, ast.Name) and node.func.id in CALLS:
            if node.func.id in ("min", "max") and len(node.args) == 1:
                return self.display(node.args[0])
            return max(self.number(argument) for argument in node.args)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "get" and isinstance(node.func.value, ast.Dict):
            return max(self.display(node.func.value), *(self.number(argument) for argument in node.args))
        raise Unvetted

    def display(self, node: ast.expr) -> int:
        """A bound on the elements of a literal list, tuple, set or dict of numbers."""
        if isinstance(node, ast.Dict):
            elements: list[ast.expr | None] = [*node.keys, *node.values]
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            elements = list(node.elts)
        else:
            raise Unvetted
        bits = 1
        for element in elements:
            if element is None:  # {**other}
                raise Unvetted
            bits = max(bits, self.number(element))
        return bits
