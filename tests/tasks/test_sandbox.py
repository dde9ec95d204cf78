"""The sandbox: right values out of good programs, and nothing but an error out of bad ones."""
# ruff: noqa: PTH100, PTH101, PTH120, PTH123, PTH208

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from harness.errors import HarnessError, UsageError
from harness.tasks.sandbox import Job, Outcome, Sandbox, client, probe, run_functions, same

LIMIT = 0.25


@pytest.fixture(scope="module")
def namespaces():
    if probe().mode != "namespaces":
        pytest.skip("this machine refuses namespaces")
    with Sandbox("namespaces", seconds=LIMIT) as box:
        yield box


@pytest.fixture(scope="module")
def limits():
    with Sandbox("limits", seconds=LIMIT) as box:
        yield box


@pytest.fixture(params=["namespaces", "limits"])
def box(request):
    return request.getfixturevalue(request.param)


def program(body):
    return "def f(x):\n" + textwrap.indent(textwrap.dedent(body), "    ")


def outcome(box, body, *, value=1):
    return box.run([Job(program(body), [[value]])])[0]


def value(box, body):
    result = outcome(box, body)
    assert result.error is None, result
    return result.values[0]


# -- good programs -----------------------------------------------------------------------------------------------


def test_expressions_and_functions_in_one_batch(box):
    jobs = [
        Job("3*x+1", [[1], [-2]], "expression"),
        Job("x*y-z", [[2, 3, 4]], "expression"),
        Job("def f(x):\n    return x // 2 if x > 0 else -x", [[7], [-7]]),
        Job("def f(a, b):\n    return sum(range(a)) + b", [[4, 1], [0, 0]]),
        Job("f = lambda x: x % 3", [[10]]),
        Job("import math\ndef f(x):\n    return math.gcd(x, 12)", [[18]]),
        Job("def g(x):\n    return 2 * x\ndef f(x):\n    return g(x) + 1", [[5]]),
        Job("[x, 2][1]", [[9]], "expression"),
    ]
    expected = [[4, -5], [2], [3, 7], [7, 0], [1], [6], [11], [2]]
    assert [o.values for o in box.run(jobs)] == expected
    assert all(o.error is None and not o.timed_out for o in box.run(jobs))


def test_every_json_scalar_comes_back_as_it_is(namespaces):
    bodies = ["return True", "return 2.5", "return 'é\\n\"'", "return 10**100", "return None", "return -0.0"]
    assert [outcome(namespaces, body).values[0] for body in bodies] == [True, 2.5, 'é\n"', 10**100, None, -0.0]


@pytest.mark.parametrize(
    "text", ["[1]", "(1,)", "{}", "1j", "float('nan')", "float('inf')", "10**9999", "'a'*99999", "int"]
)
def test_what_is_no_small_scalar_is_an_error(namespaces, text):
    result = outcome(namespaces, f"return {text}")
    assert result.values == [None]
    assert result.error


def test_an_input_that_fails_does_not_spoil_the_others(box):
    for source, kind in (("6//x", "expression"), (program("return sum([6])//x"), "function")):
        result = box.run([Job(source, [[3], [0], [2]], kind)])[0]
        assert result == Outcome([2, None, 3], "ZeroDivisionError: integer division or modulo by zero", False) or (
            result.values == [2, None, 3] and result.error.startswith("ZeroDivisionError")
        )


@pytest.mark.parametrize("source", ["", "3*", "x y", "\0", "return 1", "x = 1", "import os", "f(", "'" * 5, "\\"])
def test_text_that_is_no_expression_is_an_error(box, source):
    result = box.run([Job(source, [[1], [2]], "expression")])[0]
    assert result.values == [None, None]
    assert result.error


def test_a_module_without_f_is_an_error(box):
    assert "no function f" in box.run([Job("g = 1", [[1]])])[0].error
    assert "no function f" in box.run([Job("f = 1\nf2 = 2", [[1]])])[0].error


def test_equal_jobs_give_equal_outcomes_in_order(box):
    jobs = [Job(f"x+{i % 3}", [[1]], "expression") for i in range(20)]
    assert [o.values[0] for o in box.run(jobs)] == [1 + i % 3 for i in range(20)]
    assert box.run([]) == []


def test_random_programs_and_set_order_repeat(namespaces):
    body = "import random\nreturn str(random.random()) + ''.join({'a', 'b', 'c', 'd', 'e', 'f'})"
    with Sandbox("namespaces") as other:
        assert value(namespaces, body) == value(other, body) == value(namespaces, body + "\n")


# -- bad programs ------------------------------------------------------------------------------------------------

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


# -- isolation ---------------------------------------------------------------------------------------------------


def test_the_process_never_imported_torch_or_the_harness(box):
    body = "import sys\nreturn ' '.join(m for m in ('torch', 'harness', 'numpy', 'inside.client') if m in sys.modules)"
    assert value(box, body) == ""


def test_nothing_of_the_environment_enters(box, monkeypatch):
    assert "PATH" not in value(box, "import os\nreturn ' '.join(os.environ)")


def test_programs_run_as_nobody_without_capabilities(namespaces):
    assert value(namespaces, "import os\nreturn os.getuid()") == 65534
    refused = """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        calls = [libc.unshare(0x10000000), libc.mount(b'a', b'/tmp', b'tmpfs', 0, None), libc.umount(b'/tmp'),
                 libc.sethostname(b'a', 1), libc.ptrace(16, 1, 0, 0), libc.setuid(0), libc.chroot(b'/tmp')]
        return all(call == -1 for call in calls)
    """
    assert value(namespaces, refused) is True


def test_the_disk_holds_python_and_an_empty_tmp_and_nothing_else(namespaces):
    here = os.path.dirname(os.path.abspath(__file__))
    body = f"""
        import os
        outside = ({here!r}, '/proc/1', '/proc/self', '/etc/passwd', '/home', '/dev/null')
        seen = [p for p in outside if os.path.exists(p)]
        packages = [p for base, names, _ in os.walk('/') for p in names if p in ('torch', 'harness', 'policy_harness')]
        return repr((seen, packages, os.listdir('/tmp')))
    """
    assert value(namespaces, body) == "([], [], [])"


def test_no_network(namespaces):
    body = "import socket\ns = socket.socket()\ns.settimeout(1)\ns.connect(('127.0.0.1', 1))"
    assert "Error" in outcome(namespaces, body).error
    assert value(namespaces, "import socket\nreturn ' '.join(n for _, n in socket.if_nameindex())") in ("lo", "")


def test_files_do_not_survive_a_program(namespaces):
    write = Job(program("open('/tmp/a', 'w').write('hint')\nimport os\nreturn len(os.listdir('/tmp'))"), [[1]])
    read = Job(program("import os\nreturn len(os.listdir('/tmp'))"), [[1]])
    assert [o.values[0] for o in namespaces.run([write, read])] == [1, 0]


def test_disk_use_is_limited(namespaces):
    assert outcome(namespaces, "with open('/tmp/a', 'wb') as f:\n    f.write(b'a' * (1 << 24))").error
    body = "for i in range(400):\n    with open(f'/tmp/{i}', 'wb') as f:\n        f.write(b'a' * 1000000)"
    assert outcome(namespaces, body).error


def test_limits_mode_writes_no_file(limits, tmp_path):
    os.chmod(tmp_path, 0o777)
    assert outcome(limits, f"with open('{tmp_path}/a', 'w') as f:\n    f.write('a')").error


def _processes():
    """Of every process that has not ended: id -> parent's id."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{entry}/stat") as stat:
                state, parent = stat.read().rpartition(")")[2].split()[:2]
                if state != "Z":
                    found[int(entry)] = int(parent)
    return found


def _descendants(pid):
    parents, found = _processes(), {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def _alive(pids):
    return sorted(pids & _processes().keys())


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@linux
def test_closing_leaves_no_process():
    with Sandbox(probe().mode) as box:
        box.run([Job("x", [[1]], "expression")])
        inside = _descendants(box._process.pid)
    assert not _alive(inside)


@linux
def test_a_killed_harness_takes_its_sandbox_with_it():
    code = """
        import sys
        from harness.tasks.sandbox import Job, Sandbox, probe
        box = Sandbox(probe().mode, seconds=60)
        print(box._process.pid, flush=True)
        box.run([Job("def f(x):\\n    while True: pass", [[1]])])
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True) as harness:
        server = int(harness.stdout.readline())
        time.sleep(0.3)
        inside = _descendants(server)
        harness.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and _alive(inside):
        time.sleep(0.05)
    assert not _alive(inside)


def test_a_fork_of_the_harness_gets_its_own_process(limits):
    assert limits.run([Job("x", [[1]], "expression")])[0].values == [1]
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if limits.run([Job("x+1", [[1]], "expression")])[0].values == [2] else 1
            limits.close()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert limits.run([Job("x", [[3]], "expression")])[0].values == [3]


# -- starting ----------------------------------------------------------------------------------------------------

REFUSING = (
    "import sys; sys.path.insert(0, sys.argv[1]); from inside import jail, server\n"
    "def refuse(keep): raise jail.Refused('a user namespace: Operation not permitted')\n"
    "jail.enter_namespaces = refuse; server.main(sys.argv[2])"
)


def test_refused_namespaces_are_one_line_that_says_what_to_do(monkeypatch):
    monkeypatch.setattr(client, "BOOT", REFUSING)
    with pytest.raises(HarnessError, match=r"Operation not permitted.*--sandbox limits") as raised:
        Sandbox("namespaces")
    assert "\n" not in str(raised.value)
    report = probe()
    assert report.mode == "limits"
    assert "Operation not permitted" in report.detail


def test_a_process_that_dies_is_one_line(monkeypatch):
    monkeypatch.setattr(client, "BOOT", "raise SystemExit(3)")
    with pytest.raises(HarnessError, match="cannot start"):
        Sandbox("limits")
    assert probe().mode is None


def test_a_lost_process_is_an_error_and_the_next_batch_works(limits):
    with Sandbox("limits") as box:
        os.kill(box._process.pid, signal.SIGKILL)
        with pytest.raises(HarnessError, match="sandbox process ended"):
            box.run([Job("x", [[1]], "expression")])
        assert box.run([Job("x", [[1]], "expression")])[0].values == [1]


def test_unknown_mode():
    with pytest.raises(UsageError, match="namespaces, limits"):
        Sandbox("docker")


def test_run_functions_starts_and_ends_a_sandbox():
    assert run_functions([Job("x+1", [[1]], "expression")], mode=probe().mode)[0].values == [2]


def test_same_compares_value_and_kind():
    assert same(1, 1)
    assert same(7.0, 7)
    assert same("a", "a")
    assert same(True, True)
    assert not same(True, 1)
    assert not same(0, False)
    assert not same(None, None)
    assert not same("1", 1)
    assert not same(10**400, 1.5)
