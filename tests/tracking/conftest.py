from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from harness.cli.ui import await_answer, free_port, start, stop
from harness.runtime import Interrupt
from harness.tracking import default_uri, prepare_store


@pytest.fixture(autouse=True, scope="session")
def hasty() -> Iterator[None]:
    """Databases of tests need not survive a power cut: waiting for the disk would take most of the time."""
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    def connected(connection: Any, _record: Any) -> None:
        connection.execute("PRAGMA synchronous = OFF")

    event.listen(Engine, "connect", connected)
    yield
    event.remove(Engine, "connect", connected)


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store made once: its migrations take seconds, a copy takes none."""
    path = tmp_path_factory.mktemp("store") / "mlflow.db"
    prepare_store(f"sqlite:///{path}")
    return path


@pytest.fixture
def uri(migrated: Path, tmp_path: Path) -> str:
    """An empty store of the test's own."""
    shutil.copy(migrated, tmp_path / "mlflow.db")
    return f"sqlite:///{tmp_path / 'mlflow.db'}"


class MlflowServer:
    """A server of the test's own, on an empty store; it can be killed and started again at the same address."""

    def __init__(self, folder: Path, port: int = 5400) -> None:
        self.uri, self.database = default_uri(folder), folder / "mlflow.db"
        self.port = free_port(port)
        self.address = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.process = start(self.uri, self.database, self.port)
        await_answer(self.process, self.address, Interrupt())

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def __enter__(self) -> Self:
        prepare_store(self.uri)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        stop(self.process)
