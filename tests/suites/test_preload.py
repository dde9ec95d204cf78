import os
import subprocess
import sys

import pytest

from harness.runtime import ENVIRONMENT, THREAD_VARIABLES


@pytest.mark.slow
def test_the_fork_server_has_no_thread_of_python_or_openmp():
    """What a thread held at the fork would stay held in every worker. Arrow's allocator restarts its own."""
    code = (
        "import os, harness.suites.preload, sys; assert 'lm_eval.evaluator' in sys.modules;"
        "names = [open(f'/proc/self/task/{t}/comm').read().strip() for t in os.listdir('/proc/self/task')];"
        "names = [n for n in names if n != 'jemalloc_bg_thd']; assert len(names) == 1, names"
    )
    environment = {**os.environ, **ENVIRONMENT, **dict.fromkeys(THREAD_VARIABLES, "1")}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
