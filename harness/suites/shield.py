"""Imported by the fork server before anything else: a SIGTERM to the whole group must not end it.

Batch systems and service managers signal every process. The server's death would take away the exit status of the
workers, which are just finishing their step; it ends by itself when its parent does.
"""

import signal

signal.signal(signal.SIGTERM, signal.SIG_IGN)
