"""What a method needs, as its source states it, in words: `reference, if beta`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ["needs_in_words"]


def needs_in_words(stated: str) -> str:
    """Words for the argument `needs` of @method; '' for nothing, the source where no words fit."""
    try:
        tree = ast.parse(stated, mode="eval").body if stated else ast.Set([])
        terms = list(_terms(tree.body, _argument(tree)) if isinstance(tree, ast.Lambda) else _terms(tree, ""))
    except (SyntaxError, ValueError):
        return stated
    always = {need for need, condition in terms if not condition}
    kept = [(need, condition) for need, condition in terms if not condition or need not in always]
    plain = sorted(always)
    conditional = [f"{need}, if {condition}" for need, condition in dict.fromkeys(kept) if condition]
    return "; ".join([", ".join(plain), *conditional] if plain else conditional)


def _argument(tree: ast.Lambda) -> str:
    return tree.args.args[0].arg if tree.args.args else ""


def _terms(tree: ast.expr, argument: str, condition: str = "") -> Iterator[tuple[str, str]]:
    """(need, the condition under which it is one) of an expression. Raises ValueError for what is not read here."""
    match tree:
        case ast.Set(elts=items) | ast.Tuple(elts=items) | ast.List(elts=items):
            for item in items:
                yield str(ast.literal_eval(item)), condition
        case ast.Call(func=ast.Name(id="set" | "frozenset"), args=items):
            for item in items:
                yield from _terms(item, argument, condition)
        case ast.IfExp(test=test, body=body, orelse=other):
            branches = [list(_terms(branch, argument, condition)) for branch in (body, other)]
            yield from (term for term in branches[0] if term in branches[1])  # needed either way
            for branch, when in zip((body, other), (test, ast.UnaryOp(ast.Not(), test)), strict=True):
                said = ast.unparse(when).replace(f"{argument}.", "")
                yield from _terms(branch, argument, f"{condition} and {said}" if condition else said)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _terms(left, argument, condition)
            yield from _terms(right, argument, condition)
        case _:
            raise ValueError(ast.unparse(tree))
