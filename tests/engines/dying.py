"""A stand-in for training that starts a process of its own, as an engine is one, and is killed."""

import os
import signal
import subprocess
import sys


def run(config, directory, *, should_stop, heartbeat):
    """Write the process's id, and die as for memory."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (directory / "child.txt").write_text(str(child.pid))
    os.kill(os.getpid(), signal.SIGKILL)
