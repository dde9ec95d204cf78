"""Nothing but an error out of bad programs, in time, and no harm to others of their batch."""

import time

import pytest

from harness.tasks.sandbox import Job
from tests.tasks.sandboxed import outcome, program, value

ENDLESS = {
    "loop": "while True: pass",
    "loop that ignores signals": "import signal\nfor s in (2, 15): signal.signal(s, signal.SIG_IGN)\nwhile True: pass",
    "loop that catches everything": "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "huge power": "return 9**9**9**9",
    "endless printing": "while True: print('a' * (1 << 20))",
}
HARMLESS = {
    "1 GB": "return len(bytearray(1 << 30))",
    "all memory": "a = []\nwhile True: a.append(bytearray(1 << 20))",
    "fork bomb": "import os\nwhile True: os.fork()",
    "thread": "import threading\nthreading.Thread(target=print).start()",
    "program": "import os\nos.execv('/bin/sh', ['sh'])",
    "exit": "import os\nos._exit(0)",
    "exit with a signal": "import os\nos.kill(os.getpid(), 9)",
    "crash": "import ctypes\nctypes.string_at(0)",
    "system exit": "raise SystemExit(0)",
    "recursion": "f(x)\nreturn f(x)",
    "write outside": "open('/evil', 'w')",
    "write to Python": "import math\nopen(__import__('os').__file__, 'a')",
    "kill the server": "import os\nos.kill(os.getppid(), 9)\nraise ValueError",
    "kill everyone": "import os\nos.kill(-1, 9)\nraise ValueError",
    "mutated json": "import json\njson.dumps = lambda *a, **k: 'nonsense'\nreturn 1",
    "evil repr": "class A(int): pass\nreturn A(1)",
    "evil error": "class A(Exception):\n    def __str__(self): raise ValueError\nraise A",
}


@pytest.mark.parametrize("body", ENDLESS.values(), ids=list(ENDLESS))
def test_endless_programs_run_out_of_time(box, body):
    began = time.monotonic()
    result = outcome(box, body)
    assert result.timed_out
    assert result.values == [None]
    assert "0.25 s" in result.error
    assert time.monotonic() - began < 20
    assert outcome(box, "return x + 1").values == [2]


@pytest.mark.parametrize("body", HARMLESS.values(), ids=list(HARMLESS))
def test_harmful_programs_harm_nothing(box, body):
    before = Job("x+1", [[1]], "expression"), Job(program("return sum([x, 2])"), [[1]])
    results = box.run([before[0], Job(program(body), [[1]]), before[1]])
    assert results[1].values == [None]
    assert results[1].error
    assert [results[0].values, results[2].values] == [[2], [3]]


def test_a_sleeper_is_stopped(namespaces):
    began = time.monotonic()
    assert outcome(namespaces, "import time\ntime.sleep(60)").timed_out
    assert time.monotonic() - began < 20


def test_printing_much_is_thrown_away(box):
    assert value(box, "for _ in range(8): print('a' * (1 << 20))\nreturn 5") == 5


@pytest.mark.parametrize(
    "nested", ["(" * 1900, "-" * 1900 + "1", "[" * 1900, "x" + "+x" * 950, "1if x else " * 170 + "1", "f(" * 500]
)
def test_deep_nesting_brings_nothing_down(box, nested):
    results = box.run(
        [Job("x", [[1]], "expression"), Job(nested, [[1]], "expression"), Job("x+2", [[1]], "expression")]
    )
    assert [results[0].values, results[2].values] == [[1], [3]]


def test_writing_to_every_descriptor_forges_nothing_for_others(box):
    body = """
        import os
        forged = b'[[[[7],null],false],[[[7],null],false]]'
        for fd in range(64):
            try:
                os.write(fd, len(forged).to_bytes(4, 'big') + forged)
            except OSError:
                pass
        os._exit(0)
    """
    jobs = [
        Job(program("return sum([x])"), [[1]]),
        Job(program(body), [[1]]),
        Job(program("return sum([x, 1])"), [[1]]),
    ]
    assert [o.values for o in box.run(jobs)] == [[1], [None], [2]]
    assert [o.values for o in box.run(jobs[::-1])] == [[2], [None], [1]]


def test_a_program_sees_nothing_of_the_others_of_its_batch_or_of_earlier_ones(box):
    other = "def f(x):\n    'marker-4711'\n    return sum([x, 4711000])"
    spy = """
        import gc, sys
        found, frame = [], sys._getframe()
        while frame:
            found.append(dict(frame.f_locals))
            frame = frame.f_back
        seen = repr(found) + repr([o for o in gc.get_objects() if type(o) in (list, tuple, dict) and len(o) < 1000])
        return [word in seen for word in (''.join(('marker', '-4711')), str(4710999 + x))] == [False, False]
    """
    batch = [Job(other, [[1]]), Job(program(spy), [[2]]), Job(other + " ", [[1]])]
    assert box.run(batch)[0].values == [4711001]
    result = box.run(batch)[1]
    assert (result.values, result.error) == ([True], None)


def test_an_answer_of_the_wrong_shape_is_none(box):
    for text in ("[[1,2],null]", "[[[1]],null]", "{}", "[[NaN],null]", "[" * 5000, "[[1],null]x", "[[1],5]"):
        body = f"import os\nos.write(3, {text.encode()!r})\nos._exit(0)"
        assert outcome(box, body).error == "ended without a result"
