"""Reading what a model wrote where a library would `eval` it: values and formulas are computed, code is refused.

Several scorers of reasoning-gym give an answer to `eval`, others and math-verify to sympy's `parse_expr`, which does
the same with every builtin in reach. An answer could delete files, or write its own score.
"""

from __future__ import annotations

import ast
import builtins
import sys
from typing import Any

__all__ = ["Refused", "guard_builtin_eval", "guard_sympy", "vet_formula", "vet_values"]

MAX_LENGTH = 10_000
VALUES = (
    ast.Expression, ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.UnaryOp, ast.BinOp, ast.BoolOp,
    ast.Compare, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context,
)  # fmt: skip
BUILTINS = frozenset({"abs", "max", "min"})  # sympy knows these by the same names
FUNCTIONS = BUILTINS | {"sqrt", "cbrt", "root", "real_root"}  # what is no class of sympy's
TEXTS = frozenset({"Symbol", "Integer", "Float", "Rational", "Function"})  # sympy writes names and numbers as texts


class Refused(ValueError):  # noqa: N818
    """A text that is more than values or a formula."""


def vet_values(source: str) -> str:
    """The source of plain values and arithmetic on them, without any name. Raises Refused for anything else."""
    for node in ast.walk(_tree(source)):
        if not isinstance(node, VALUES):
            raise Refused(type(node).__name__)
    return source


def vet_formula(source: str) -> str:
    """The source of a formula in sympy's classes: no attributes, no texts but names and numbers, no other functions.

    Raises Refused for anything else.
    """
    tree = _tree(source)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = {id(argument) for call in calls if _takes_texts(call) for argument in call.args}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            _vet_call(node)
        elif isinstance(node, ast.Name):
            if node.id.startswith("_") or (hasattr(builtins, node.id) and node.id not in BUILTINS):
                raise Refused(node.id)
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str | bytes) and id(node) not in named:
                raise Refused("a text")
        elif not isinstance(node, VALUES):
            raise Refused(type(node).__name__)
    return source


def guard_sympy() -> None:
    """Make sympy's `parse_expr` vet what it evaluates, in this process."""
    from sympy.parsing import sympy_parser as parser

    evaluate, rewrite = parser.eval_expr, parser.evaluateFalse

    def eval_expr(code: Any, local_dict: Any, global_dict: Any) -> Any:  # a code object comes from evaluateFalse
        return evaluate(vet_formula(code) if isinstance(code, str) else code, local_dict, global_dict)

    parser.eval_expr = eval_expr
    parser.evaluateFalse = lambda text: rewrite(vet_formula(text))


def guard_builtin_eval(package: str) -> None:
    """Make `eval` in the modules of a package, as far as they are imported, vet what it evaluates."""

    def plain(source: Any, *scopes: Any) -> Any:
        return eval(vet_values(str(source)), *scopes)  # noqa: S307

    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == package:
            vars(module)["eval"] = plain


def _tree(source: str) -> ast.Expression:
    if len(source) > MAX_LENGTH:
        raise Refused("too long")
    try:
        return ast.parse(source.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Refused("no Python") from error


def _takes_texts(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in TEXTS


def _vet_call(node: ast.Call) -> None:
    """A call of a class of sympy's, or of a name that the scorer gave."""
    import sympy

    if not isinstance(node.func, ast.Name) or node.keywords:
        raise Refused("a call")
    name = node.func.id
    found = getattr(sympy, name, None)
    if name in FUNCTIONS or found is None:
        return
    if not (isinstance(found, type) and issubclass(found, sympy.Basic)):
        raise Refused(name)
