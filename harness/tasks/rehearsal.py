"""Tests that compute (loops, random inputs, tolerances), run without the program that they judge.

A known solution rehearses: the test runs on it once, in the sandbox, and each call it makes is noted. A program is then
called with the noted arguments, in a process that never sees the test; the test runs again in another process, with the
values that the program gave in place of its function. So no program can read a test, count its asserts, or return
something that claims to equal everything.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence
from typing import Any

from harness.tasks.programs import CALL, parsed, value_of
from harness.tasks.sandbox import Job, Outcome

__all__ = ["Play", "Rehearsed", "entry_of", "rehearse"]

# `ticks` gets a truth value per assert; `candidate` is the function that is tested, under both its names.
_STAGE = """
import ast
ticks, calls = [], []
def tick(test):
    try:
        ticks.append(bool(test()))
    except Exception:
        ticks.append(False)
def run(candidate):
    scope = {{"__name__": "tests", "_tick": tick}}
    own = {{"__name__": "solution"}}
    exec({solution!r}, own)
    scope.update((k, v) for k, v in own.items() if not k.startswith("__"))
    exec({setup!r}, scope)
    scope["candidate"] = scope[{name!r}] = candidate(own)
    try:
        exec({tests!r}, scope)
    except Exception:
        pass
"""
_REHEARSE = """
def f():
    def noting(own):
        function = own[{name!r}] if {name!r} in own else getattr(own["Solution"](), {name!r})
        def candidate(*positional, **named):
            call = repr((list(positional), named))
            ast.literal_eval(call)
            if call not in calls:
                calls.append(call)
            return function(*positional, **named)
        return candidate
    run(noting)
    return repr((calls, ticks))
"""
_PERFORM = """
def f(noted, texts):
    values = dict(zip(ast.literal_eval(noted), ast.literal_eval(texts)))
    def candidate(*positional, **named):
        return ast.literal_eval(values[repr((list(positional), named))])
    run(lambda own: candidate)
    return "".join("01"[ok] for ok in ticks)
"""


@dataclasses.dataclass(frozen=True)
class Play:
    """A test that is to be rehearsed: sources of the tests, of what they need, and of a solution of function `name`."""

    name: str
    tests: str
    solution: str
    setup: str = ""

    @property
    def stage(self) -> str:
        """Python that runs the test on any function."""
        return _STAGE.format(solution=self.solution, setup=self.setup, name=self.name, tests=_ticking(self.tests))


@dataclasses.dataclass(frozen=True)
class Rehearsed:
    """A test with the calls that it makes, each as the source of (list, dict), and how many asserts it reaches."""

    play: Play
    calls: tuple[str, ...]
    count: int
    shown: int = 0

    def job(self, program: str) -> Job:
        """The program, called with the arguments of every noted call."""
        return Job(CALL.format(program=program, name=self.play.name), [[call] for call in self.calls], "function")

    def second(self, outcome: Outcome) -> Job:
        """The test, on the values that the program gave."""
        texts = [text if value_of(text)[0] else None for text in outcome.values]
        return Job(self.play.stage + _PERFORM, [[repr(self.calls), repr(texts)]], "function")

    def verdicts(self, outcome: Outcome, second: Outcome | None) -> list[bool]:  # noqa: ARG002
        """Whether each assert held; one that was not reached did not, and further ones count with the last."""
        said = second.values[0] if second is not None else None
        ticks = [tick == "1" for tick in said] if isinstance(said, str) else []
        if len(ticks) > self.count:  # a loop over what the program gave
            ticks[self.count - 1] = all(ticks[self.count - 1 :])
        return (ticks + [False] * self.count)[: self.count]


def rehearse(plays: Sequence[Play], sandbox: Any, shown: int = 0) -> list[Rehearsed | None]:
    """Each play after its rehearsal; None where the solution fails, or is called with what has no plain source."""
    jobs = [Job(play.stage + _REHEARSE.format(name=play.name), [[]], "function") for play in plays]
    return [_rehearsed(play, outcome, shown) for play, outcome in zip(plays, sandbox.run(jobs), strict=True)]


def _rehearsed(play: Play, outcome: Outcome, shown: int) -> Rehearsed | None:
    ok, said = value_of(outcome.values[0])
    if not ok:
        return None
    calls, ticks = said
    return Rehearsed(play, tuple(calls), len(ticks), shown) if calls and ticks and all(ticks) else None


def entry_of(tests: str, solution: str) -> str | None:
    """The function of the solution that the tests call first; None where they call none."""
    one, two = parsed(solution), parsed(tests)
    if one is None or two is None:
        return None
    defined = {node.name for node in one.body if isinstance(node, ast.FunctionDef)}
    calls = [node.func.id for node in ast.walk(two) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    return next((name for name in calls if name in defined), None)


class _Ticking(ast.NodeTransformer):
    """`assert x` becomes `_tick(lambda: x)`; one that says nothing (`assert True`) goes."""

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        if isinstance(node.test, ast.Constant):
            return ast.Pass()
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        test = ast.Lambda(args=nothing, body=node.test)
        return ast.Expr(ast.Call(func=ast.Name("_tick", ast.Load()), args=[test], keywords=[]))


def _ticking(source: str) -> str:
    tree = parsed(source)
    if tree is None:
        return "raise ValueError('the tests are no Python')"
    defines_check = any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in tree.body)
    text = ast.unparse(ast.fix_missing_locations(_Ticking().visit(tree)))
    return f"{text}\ncheck(candidate)" if defines_check else text
