"""Mathematical equality, in a process that may be lost."""

import os
import sys
import threading
import time

import pytest

from harness.errors import HarnessError
from harness.tasks import worker
from harness.tasks.verify import MathVerifier, quick_equal


@pytest.fixture(scope="module")
def verifier():
    found = MathVerifier(seconds=20)
    yield found
    found.close()


def test_a_look_decides_numbers_and_equal_texts():
    assert quick_equal("12", "12.0")
    assert quick_equal("1/2", "0.5")
    assert quick_equal("x + 1", " x  +  1")
    assert quick_equal("12", "13") is False
    assert quick_equal("x+1", "1+x") is None


def test_plain_numbers_start_no_process():
    lazy = MathVerifier()
    assert lazy.equal("1,000", "1000")
    assert not lazy.equal("12", "13")
    assert lazy._worker._process is None


@pytest.mark.parametrize(
    ("gold", "answer", "equal"),
    [
        ("\\frac{1}{2}", "0.5", True),
        ("x+1", "1+x", True),
        ("(x+1)^2", "x^2+2x+1", True),
        ("\\sqrt{8}", "2\\sqrt{2}", True),
        ("x+1", "x+2", False),
        ("6", "it is six", False),
        ("x+1", "", False),
        ("x+1", "x" * 1000, False),
        ("\\frac{1}{2}", "\\frac{", False),
        ("x+1", "So it is $1+x$.", True),
        ("\\text{east}", "west", False),
        ("\\text{east}", "\\text{west}", False),
        ("23", "2**3", False),
        ("1000", "1\\,001", False),
        ("(1,2)", "( 1, 2 )", True),
        ("\\sin x", "\\sin(x)", True),
    ],
)
def test_algebra(verifier, gold, answer, equal):
    assert verifier.equal(gold, answer) is equal


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("\\text{east}", "east"),
        ("\\text{(A)}", "\\textbf{(A)}"),
        ("\\$12.50", "12.5"),
        ("12", "\\$12"),
        ("1000", "1\\,000"),
        ("10,\\!080", "10080"),
        ("34", "**34**"),
        ("34", "** 34"),  # behind "**Answer:"
    ],
)
def test_ways_to_write_one_answer(verifier, gold, answer):
    assert verifier.readable(gold)
    assert verifier.equal(gold, answer)


def test_a_known_answer_that_cannot_be_read(verifier):
    assert verifier.readable("\\frac{3}{4}")
    assert verifier.readable("6")
    assert not verifier.readable("")
    assert not verifier.readable("no idea")


def test_it_works_off_the_main_thread(verifier):
    found = []
    thread = threading.Thread(target=lambda: found.append(verifier.equal("a+b", "b+a")))
    thread.start()
    thread.join()
    assert found == [True]


SLOW = "import sys; print('\"ready\"', flush=True); sys.stdin.readline(); import time; time.sleep(60)"
DYING = "import os, sys; print('\"ready\"', flush=True); sys.stdin.readline(); os._exit(9)"


def stand_in(monkeypatch, code):
    real = worker.subprocess.Popen
    monkeypatch.setattr(
        worker.subprocess, "Popen", lambda command, **options: real([sys.executable, "-c", code], **options)
    )


@pytest.mark.parametrize("code", [SLOW, DYING])
def test_what_hangs_or_dies_is_wrong_in_time_and_leaves_no_process(monkeypatch, code):
    stand_in(monkeypatch, code)
    fragile = MathVerifier(seconds=0.2)
    began = time.monotonic()
    for i in range(3):
        assert not fragile.equal(f"x^{i}", "y")
        assert fragile._worker._process is None
    assert fragile.timeouts == 3
    assert time.monotonic() - began < 30


def test_answers_are_asked_once(verifier):
    before = verifier._cached.cache_info().hits
    assert verifier.equal("c+d", "d+c")
    assert verifier.equal("c+d", "d+c")
    assert verifier._cached.cache_info().hits == before + 1


def test_a_process_that_cannot_start_is_one_line(monkeypatch):
    stand_in(monkeypatch, "raise SystemExit(1)")
    with pytest.raises(HarnessError, match="math-verify cannot start"):
        MathVerifier().equal("x", "y")


def test_a_fork_gets_its_own_process(verifier):
    assert verifier.equal("e+f", "f+e")
    theirs = verifier._worker._process.pid
    pid = os.fork()
    if pid == 0:
        ok = verifier.equal("g+h", "h+g") and verifier._worker._process.pid != theirs
        verifier.close()
        os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert verifier.equal("i+j", "j+i")
