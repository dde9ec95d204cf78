"""The life of the sandbox's processes: started, lost, forked, refused, and never left behind."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from harness.errors import HarnessError, UsageError
from harness.tasks.sandbox import Job, Sandbox, client, probe, run_functions
from tests.tasks.sandboxed import alive, descendants

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@linux
def test_closing_leaves_no_process():
    with Sandbox(probe().mode) as box:
        box.run([Job("x", [[1]], "expression")])
        inside = descendants(box._process.pid)
    assert not alive(inside)


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
        inside = descendants(server)
        harness.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and alive(inside):
        time.sleep(0.05)
    assert not alive(inside)


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


REFUSING = (
    "import sys; sys.path.insert(0, sys.argv[1]); from inside import jail, server\n"
    "def refuse(): raise jail.Refused('a user namespace: Operation not permitted')\n"
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
