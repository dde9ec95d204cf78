"""An engine whose process is dead is told of, also where somebody waits for its answer."""

from __future__ import annotations

import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import pytest

from harness.engines import processes
from harness.engines.processes import children, watched

WAITS = [sys.executable, "-c", "import sys; sys.stdin.read()"]
HAS_ONE = (
    "import subprocess, sys; one = subprocess.Popen([sys.executable, '-c', 'import sys; sys.stdin.read()'],"
    " stdin=subprocess.PIPE); print(one.pid, flush=True); sys.stdin.read()"
)


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "EVERY", 0.02)


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(WAITS, stdin=subprocess.PIPE) as child:
        yield child
        child.kill()


def seen(child: subprocess.Popen[bytes]) -> psutil.Process:
    return psutil.Process(child.pid)


@pytest.mark.timeout(30)
def test_a_wait_without_end_is_broken_off_when_the_process_dies(child: subprocess.Popen[bytes]) -> None:
    before = signal.getsignal(processes.ALARM)
    answers: queue.Queue[Any] = queue.Queue()
    killing = threading.Timer(0.2, child.kill)
    killing.start()
    with pytest.raises(ChildProcessError, match=f"its process {child.pid} is dead"), watched([seen(child)]):
        answers.get()
    killing.join()
    assert signal.getsignal(processes.ALARM) is before


def test_one_that_is_dead_already_is_told_of_at_once(child: subprocess.Popen[bytes]) -> None:
    process = seen(child)
    child.kill()
    child.wait()
    with pytest.raises(ChildProcessError), watched([process]):
        pytest.fail("the block was entered")


def test_nothing_is_said_of_one_that_lives_or_dies_afterwards(child: subprocess.Popen[bytes]) -> None:
    before, threads = signal.getsignal(processes.ALARM), threading.active_count()
    with watched([seen(child)]):
        pass
    child.kill()
    child.wait()
    assert signal.getsignal(processes.ALARM) is before
    assert threading.active_count() == threads


def test_another_error_stays_what_it_is(child: subprocess.Popen[bytes]) -> None:
    with pytest.raises(KeyError), watched([seen(child)]):
        raise KeyError("other")


def test_outside_the_main_thread_the_beginning_is_checked(child: subprocess.Popen[bytes]) -> None:
    process = seen(child)

    def use() -> str:
        with watched([process]):
            return "used"

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(use).result() == "used"
        child.kill()
        child.wait()
        with pytest.raises(ChildProcessError):
            pool.submit(use).result()


def test_children_are_those_of_this_process_alone() -> None:
    with subprocess.Popen([sys.executable, "-c", HAS_ONE], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        below = psutil.Process(int(child.stdout.readline()))
        assert children([seen(child), below]) == [seen(child)]
        child.kill()
        child.wait()
        below.kill()
        assert children([below]) == []
