import os
import signal
import subprocess
import sys

from harness import runtime


def test_importing_runtime_sets_nothing_and_prepare_sets_before_torch():
    code = (
        "import os, sys; import harness.runtime as r; assert 'torch' not in sys.modules;"
        "assert 'OMP_WAIT_POLICY' not in os.environ; r.prepare(2); assert os.environ['OMP_WAIT_POLICY'] == 'PASSIVE';"
        "assert os.environ['OMP_NUM_THREADS'] == '2'; assert os.environ['DO_NOT_TRACK'] == '0'"
    )
    clean = {k: v for k, v in os.environ.items() if k not in {*runtime.ENVIRONMENT, *runtime.THREAD_VARIABLES}}
    subprocess.run([sys.executable, "-c", code], check=True, env={**clean, "DO_NOT_TRACK": "0"})


def test_cores_is_positive_and_respects_affinity():
    assert 1 <= runtime.cores() <= len(os.sched_getaffinity(0))


def test_cgroup_quota(tmp_path):
    file = tmp_path / "cpu.max"
    for text, cores in (("max 100000", None), ("150000 100000", 2), ("100000 100000", 1), ("broken", None)):
        file.write_text(text)
        assert runtime._cgroup_quota(file) == cores
    assert runtime._cgroup_quota(tmp_path / "none") is None


def test_interrupt_counts_signals_and_restores_handlers():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    heard = []
    with runtime.Interrupt().listening(heard.append) as interrupt:
        assert not interrupt
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupt
        assert interrupt.count == 2
    assert heard == [1, 2]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
