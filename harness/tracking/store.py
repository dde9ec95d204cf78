"""The MLflow store: where it is, and making it ready before anyone writes to it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from harness import runtime
from harness.errors import HarnessError, UsageError
from harness.tracking.privacy import ACCOUNT

if TYPE_CHECKING:
    from mlflow import MlflowClient

__all__ = ["artifact_root", "client", "database", "default_uri", "prepare_store"]

SQLITE = "sqlite:///"
SQLITE_HEADER = b"SQLite format 3\0"


def default_uri(out: Path) -> str:
    """The store that suites write to unless told otherwise: a database beside their runs."""
    return f"{SQLITE}{(out / 'mlflow.db').resolve()}"


def database(uri: str) -> Path | None:
    """The file of a sqlite store; None for a server."""
    return Path(uri.removeprefix(SQLITE)).resolve() if uri.startswith(SQLITE) else None


def artifact_root(uri: str) -> str | None:
    """Where a local store keeps artifacts, beside its database; None: the server decides."""
    path = database(uri)
    return None if path is None else (path.parent / "mlflow-artifacts").as_uri()


def client(uri: str) -> MlflowClient:
    """A client of the store. Never MLflow's fluent interface: its global state belongs to the user's own code."""
    if uri.startswith(("file:", "/", ".")) or not (":" in uri or uri.startswith("databricks")):
        raise UsageError(
            f"--tracking-uri {uri}: MLflow no longer keeps plain files; use sqlite:///PATH.db or a server's URL"
        )
    runtime.prepare()  # MLflow reads its settings from the environment
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=uri, registry_uri=uri)


def prepare_store(uri: str) -> None:
    """Create or migrate the store. Call it once, in the parent, before workers start: two first uses at once race.

    Raises HarnessError where the store cannot be opened.
    """
    path = database(uri)
    if path is not None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            other = "name another with --tracking-uri, or go without (--no-tracking)"
            raise UsageError(f"MLflow store {path}: {path.parent} is no folder ({error.strerror}); {other}") from None
        refuse_other_files(path)
    with reachable(uri), exclusively(path), quietly("mlflow.store.db.utils", "alembic"):  # migrations are no news
        client(uri).search_experiments(max_results=1)


def refuse_other_files(path: Path) -> None:
    """Say at once that a file is no database: MLflow would try ten times, ever more slowly."""
    if path.is_file() and path.stat().st_size:
        with path.open("rb") as file:
            if file.read(len(SQLITE_HEADER)) != SQLITE_HEADER:
                raise HarnessError(
                    f"MLflow store {path}: this is no SQLite database; move it away, or name another store"
                )


@contextlib.contextmanager
def quietly(*names: str) -> Iterator[None]:
    """Loggers that say only what went wrong."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextlib.contextmanager
def reachable(uri: str) -> Iterator[None]:
    """Turn whatever a broken store raises into one line."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (MlflowException, SQLAlchemyError, OSError) as error:
        later = "runs are safe in their files; harness leaderboard --rebuild logs them later"
        raise HarnessError(f"MLflow store {ACCOUNT.sub('', uri)}: {reason(error)} ({later})") from error


def reason(error: Exception) -> str:
    """Why a store failed, in a line; what a library says of sockets and retries is 'no answer'."""
    text = str(error).strip()
    if any(sign in text for sign in ("Max retries exceeded", "Connection refused", "Connection aborted", "timed out")):
        return "no answer"
    return text.splitlines()[0][:200] if text else type(error).__name__


@contextlib.contextmanager
def exclusively(path: Path | None) -> Iterator[None]:
    """Hold a lock beside a database while it is created, so that two commands may start at once."""
    if path is None:
        yield
        return
    try:
        import fcntl
    except ImportError:  # Windows: one command at a time
        yield
        return
    with path.with_name(path.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)
