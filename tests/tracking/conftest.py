from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.tracking import prepare_store


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
