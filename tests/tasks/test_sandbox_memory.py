"""What a program finds when it reads all of its memory, freed memory included: nothing of any other program."""

import sys

import pytest

from harness.tasks.sandbox import Job, Sandbox, probe
from harness.tasks.streams import Streams

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads memory by a Linux call")

# Reads the heap and what lies round an object, as far as they are there, and counts the words of a family. The pattern
# is no word of it, so the program does not find itself.
SPY = """
import ctypes, os, re
WORDS = re.compile(b"mar[k]er-47[0-9][0-9]")
class Span(ctypes.Structure):
    _fields_ = [("at", ctypes.c_size_t), ("size", ctypes.c_size_t)]
libc = ctypes.CDLL(None)
libc.sbrk.restype = ctypes.c_size_t
libc.sbrk.argtypes = [ctypes.c_ssize_t]
CHUNK = 1 << 16
def memory(at):
    space = ctypes.create_string_buffer(CHUNK)
    here, there = Span(ctypes.addressof(space), CHUNK), Span(at, CHUNK)
    size = libc.process_vm_readv(os.getpid(), ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    return space.raw[:max(size, 0)]
def found():
    words, heap, seen = set(), libc.sbrk(0) // CHUNK * CHUNK, 0
    middle = id(object()) // CHUNK * CHUNK
    for start, count in ((heap - (32 << 20), 513), (middle - (64 << 20), 2048)):
        for at in range(start, start + count * CHUNK, CHUNK):
            piece = memory(at)
            seen += len(piece)
            words |= set(WORDS.findall(piece))
    assert seen > 1 << 20, seen
    return " ".join(sorted(word.decode() for word in words))
"""
FUNCTION = SPY + "\ndef f(x):\n    return found()\n"


@pytest.fixture(scope="module", params=["namespaces", "limits"])
def roomy(request):
    if request.param == "namespaces" and probe().mode != "namespaces":
        pytest.skip("this machine refuses namespaces")
    with Sandbox(request.param, seconds=20, memory=1 << 30) as box:
        yield box


def values(box, *jobs):
    outcomes = box.run(jobs)
    assert [outcome.error for outcome in outcomes] == [None] * len(jobs)
    return [outcome.values[0] for outcome in outcomes]


def test_a_program_finds_its_own_inputs_so_the_search_works(roomy):
    assert values(roomy, Job(FUNCTION, [["marker-4701"]])) == ["marker-4701"]


def test_a_program_finds_nothing_of_its_siblings(roomy):
    sibling = "def f(x):\n    'marker-4702'\n    return f'marker-47{x}'"
    spy = Job(FUNCTION, [["marker-4701"]])
    short = Job("x if x else 'marker-4705'", [[1]], "expression")
    earlier = [Job(sibling, [[3 + 1000 * number]]) for number in range(3)]
    later = Job(sibling + " ", [["marker-4704"]])
    assert values(roomy, *earlier, short, spy, later, Job(FUNCTION + " ", [["marker-4706"]]))[-3::2] == [
        "marker-4701",
        "marker-4706",
    ]
    assert values(roomy, spy) == ["marker-4701"]  # nor of an earlier batch


def test_expected_outputs_are_in_no_memory_of_a_program(roomy):
    tests = Streams(("marker-4711", "marker-4712"), ("marker-4713", "marker-4714"))
    job = tests.job(SPY + "\nprint(found())")
    assert [text.split() for text in roomy.run([job])[0].values] == [["marker-4711", "marker-4712"]] * 2


def test_relative_files_do_not_survive_a_program(roomy):
    if roomy.mode != "namespaces":
        pytest.skip("writes files")
    body = "import os\ndef f(x):\n  open('/tmp/a', 'w'), open(f'b{x}', 'w')\n  return ','.join(sorted(os.listdir()))"
    assert values(roomy, *(Job(body, [[x]]) for x in range(3))) == ["a,b0", "a,b1", "a,b2"]
