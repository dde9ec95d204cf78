"""Which programs may share a process, and that sharing one changes no outcome."""

import random

import pytest

from harness.tasks.sandbox import Job, Sandbox, probe
from harness.tasks.sandbox.inside.vet import Unvetted, vet

VETTED = [
    "3*x+1", "x", "-x", "x if x>3 else 2*x", "abs(x)-1", "max(x,3)", "min([x,2])", "x%7//2", "x**2+x**3",
    "{1:4,3:10}[x]", "{1:4}.get(x,0)", "[4,10,2][x%3]", "x in (1,2,3)", "not x", "x>1 and x<5 or 7", "x<<3|1",
    "1<x<9", "int(x>3)", "x/2", "y", "1.5*x", "bool(x)", "(4)", "x +1", "0x10", "1_000",
]  # fmt: skip
ALONE = [
    "x**x", "9**9**9", "1<<x", "1<<99", "x**-1", "[1]*x", "'a'*x", "sum([x])", "len('a')", "open('a')",
    "().__class__", "x.real", "f(x)", "lambda: 1", "[x for x in x]", "(x:=3)", "f'{x}'", "__import__('os')",
    "print", "{**{}}", "[1,2][0:1]", "abs", "int(*[x])", "max(x,key=abs)", "x*" * 1200 + "x", "1j", "b'a'", "...",
    "await x", "eval('1')", "{1:[2]}[x]", "max()", "9" * 2001,
]  # fmt: skip
FUNCTIONS = [
    "def f(x): return x+1",
    "def f(x: int) -> int:\n    'doc'\n    if x > 3:\n        return x\n    return -x",
    "def f(x):\n    y = x * 2\n    y += 1\n    return y",
    "def f(a, b):\n    return a - b",
    "f = lambda x: x + 1",
    "f = (\nlambda x: x\n)\n",
    "def f(x):\n    sum = 0\n    return sum + x",
    "def f(x): pass",
]
FUNCTIONS_ALONE = [
    "def f(x):\n    while x: pass",
    "def f(x):\n    for i in (1, 2): x += i\n    return x",
    "def f(x):\n    return f(x)",
    "def g(x): return x",
    "def f(x=[]): return x",
    "def f(*x): return 1",
    "@abs\ndef f(x): return x",
    "import os\ndef f(x): return x",
    "def f(x):\n" + "    x = x * x\n" * 30 + "    return x",
    "def f(x):\n    global y\n    y = 1\n    return y",
    "def f(x):\n    abs = x\n    return abs",
    "def f(abs): return abs",
    "f = lambda abs: abs(1)",
    "def f(x: print(1)): return x",
    "f = g = lambda x: x",
    "async def f(x): return 1",
    "def f(x): yield x",
    "def f(x):\n    try: return 1\n    finally: pass",
]


@pytest.mark.parametrize("source", VETTED)
def test_plain_arithmetic_is_vetted(source):
    assert vet("expression", source, 64, 1)


@pytest.mark.parametrize("source", ALONE)
def test_anything_else_runs_alone(source):
    with pytest.raises((Unvetted, SyntaxError)):
        vet("expression", source, 64, 1)


@pytest.mark.parametrize("source", FUNCTIONS)
def test_plain_functions_are_vetted(source):
    assert vet("function", source, 64, 1)


@pytest.mark.parametrize("source", FUNCTIONS_ALONE)
def test_other_functions_run_alone(source):
    with pytest.raises(Unvetted):
        vet("function", source, 64, 1)


def test_the_bound_follows_the_inputs():
    assert vet("expression", "x**8", 64, 1)
    with pytest.raises(Unvetted):
        vet("expression", "x**8", 1000, 1)


def test_branches_join_to_the_larger_bound():
    source = "def f(x):\n    y = 1\n    if x:\n        y = x ** 60\n    return y ** 3"
    assert vet("function", source, 8, 1)
    with pytest.raises(Unvetted):
        vet("function", source, 64, 1)


def _expression(generator, depth):
    if depth == 0 or generator.random() < 0.2:
        return generator.choice(["x", "x", str(generator.randrange(12)), "2.5", "True", "nope"])
    a, b, c = (_expression(generator, depth - 1) for _ in range(3))
    return generator.choice([
        f"({a}+{b})", f"({a}-{b})", f"({a}*{b})", f"({a}//{b})", f"({a}%{b})", f"({a}/{b})", f"({a} if {b} else {c})",
        f"-({a})", f"~({a})", f"abs({a})", f"max({a},{b})", f"min({a},{b},{c})", f"({a}<{b}<={c})", f"({a}=={b})",
        f"(not {a})", f"({a} and {b})", f"({a} or {b})", f"{{1:{a},2:{b}}}[{c}]", f"[{a},{b}][{c}]", f"({a})**2",
        f"({a} in ({b},{c}))", f"int({a})", f"{{1:{a}}}.get({b},{c})", f"({a}&{b})", f"({a}<<2)", f"({a}>>{b})",
    ])  # fmt: skip


def test_sharing_a_process_changes_no_outcome():
    generator = random.Random(0)
    sources = [_expression(generator, 3) for _ in range(150)]
    inputs = [[-3], [0], [1], [2], [50]]
    shared = [Job(source, inputs, "expression") for source in sources]
    alone = [Job(f"(lambda: {source})()", inputs, "expression") for source in sources]
    with Sandbox(probe().mode) as box:
        together, apart = box.run(shared), box.run(alone)
    assert sum(outcome.error is None for outcome in together) > 20
    for source, a, b in zip(sources, together, apart, strict=True):
        assert repr(a) == repr(b), source
