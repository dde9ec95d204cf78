"""MLflow as a view of the files: one experiment per suite and rules version, rebuilt from trial directories at will."""

from __future__ import annotations

from harness.tracking.experiment import boards
from harness.tracking.live import Mirror
from harness.tracking.store import database, default_uri, prepare_store
from harness.tracking.sync import sync, sync_trials
from harness.tracking.view import deep_link, plain_link
from harness.tracking.writer import Synced

__all__ = [
    "Mirror",
    "Synced",
    "boards",
    "database",
    "deep_link",
    "default_uri",
    "plain_link",
    "prepare_store",
    "sync",
    "sync_trials",
]
