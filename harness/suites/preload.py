"""Imported once by the fork server, so that a worker starts in milliseconds. Nothing here may start a thread."""

from __future__ import annotations

import contextlib
import importlib

for _name in ("torch", "harness.suites.trial", "harness.training.trial", "harness.evaluation", "harness.suites.worker"):
    with contextlib.suppress(Exception):  # a broken import is reported by the trial that needs it
        importlib.import_module(_name)
