"""The only place that sets process-wide state: thread counts, environment variables of libraries, signals.

`prepare()` must run before torch is imported: libgomp reads OMP_WAIT_POLICY once, and its default (spinning at
barriers) makes two processes that share a core more than ten times slower.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

__all__ = [
    "ENVIRONMENT", "THREAD_VARIABLES", "Interrupt", "cores", "leave_out_plugins", "prepare", "prepare_vllm",
    "single_threaded",
]  # fmt: skip

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")

ENVIRONMENT = {
    "OMP_WAIT_POLICY": "PASSIVE",
    "TOKENIZERS_PARALLELISM": "false",  # its thread pool does not survive the fork of a worker
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",  # transformers draws one for every load; ours are enough
    "DO_NOT_TRACK": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # seven idle processes that the harness never uses
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # two lines for each of hundreds of runs
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",  # a dead server must not hold a suite up: files are synchronised later
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "60",
    "GIT_PYTHON_REFRESH": "quiet",  # MLflow warns where there is no git
    "RAY_USAGE_STATS_ENABLED": "0",
    "VLLM_NO_USAGE_STATS": "1",
}


def prepare(threads: int | None = None) -> None:
    """Set what libraries read from the environment; what the user has set stays, thread counts given here apart."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    if threads is not None:
        for name in THREAD_VARIABLES:
            os.environ[name] = str(threads)


@contextlib.contextmanager
def prepare_vllm(cache_gib: int) -> Iterator[None]:
    """What vLLM reads from the environment, before its import; the libraries that it preloads there leave with it."""
    defaults = {
        "VLLM_LOGGING_LEVEL": "ERROR",  # its warnings are many, one of them with a traceback, and mean nothing here
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # or the engines of all trials would sit on the same cores
        "VLLM_CPU_KVCACHE_SPACE": str(cache_gib),
    }
    for name, value in {**ENVIRONMENT, **defaults}.items():
        os.environ.setdefault(name, value)
    preload = os.environ.get("LD_PRELOAD")
    try:
        yield
    finally:
        os.environ.pop("LD_PRELOAD", None)
        if preload is not None:
            os.environ["LD_PRELOAD"] = preload


def leave_out_plugins() -> None:
    """Let no third-party plugin in, in this process and its workers: what `--no-plugins` says."""
    os.environ["HARNESS_PLUGIN_AUTOLOAD"] = "0"
    os.environ.pop("HARNESS_PLUGINS", None)


def single_threaded(threads: int = 1) -> None:
    """Pin an already imported torch to `threads`: thread counts change the last bits of a sum, so they are recorded."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(threads)
        with contextlib.suppress(RuntimeError):  # can be set once only, before the first parallel region
            torch.set_num_interop_threads(1)


def cores() -> int:
    """CPU cores this process may use: its affinity, and the quota of its control group where there is one."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    quota = _cgroup_quota(Path("/sys/fs/cgroup/cpu.max"))
    return max(1, min(count, quota) if quota else count)


def _cgroup_quota(file: Path) -> int | None:
    """Whole cores of a version 2 control group, rounded up; None without a limit."""
    try:
        limit, period = file.read_text().split()
        return None if limit == "max" else -(-int(limit) // int(period))
    except (OSError, ValueError):
        return None


class Interrupt:
    """SIGINT and SIGTERM, counted: the first asks for a clean end, the second for one at once."""

    def __init__(self) -> None:
        self.count = 0

    def __bool__(self) -> bool:
        return self.count > 0

    @contextlib.contextmanager
    def listening(self, on_signal: Callable[[int], None] | None = None) -> Iterator[Interrupt]:
        """Catch both signals inside the block (main thread only), calling `on_signal(count)` for each."""

        def handle(_signum: int, _frame: FrameType | None) -> None:
            self.count += 1
            if on_signal is not None:
                on_signal(self.count)

        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield self
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
