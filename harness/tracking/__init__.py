"""MLflow as a view of the files: one experiment per suite and rules version, rebuilt from trial directories at will."""

from __future__ import annotations

from harness.tracking.links import deep_link
from harness.tracking.store import default_uri, prepare_store
from harness.tracking.sync import Synced, sync, sync_trials

__all__ = ["Synced", "deep_link", "default_uri", "prepare_store", "sync", "sync_trials"]
