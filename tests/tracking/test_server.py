"""Against a real MLflow server on this machine, and its pages in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cli.ui import await_answer, free_port, start, stop
from harness.leaderboard import board
from harness.runtime import Interrupt
from harness.tracking import deep_link, default_uri, prepare_store, sync
from harness.tracking.store import client
from tests.leaderboard.fixtures import GRPO, write_demo, write_suite, write_trial

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
    "--window-size=1600,900", "--virtual-time-budget=40000",
]  # fmt: skip
SYNC = """
import sys
from pathlib import Path
from harness.leaderboard import board
from harness.tracking import sync
sync(board(Path(sys.argv[1])), Path(sys.argv[1]), sys.argv[2])
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an MLflow server on an empty store."""
    out = tmp_path_factory.mktemp("server")
    uri = default_uri(out)
    prepare_store(uri)
    port = free_port(5400)
    process = start(uri, out / "mlflow.db", port)
    address = f"http://127.0.0.1:{port}"
    try:
        await_answer(process, address, Interrupt())
        yield address
    finally:
        stop(process)


def write_small(root: Path, suite: str, seeds: int = 5) -> Path:
    for seed in range(seeds):
        for method, final in ((GRPO, 0.4), ("dr-grpo", 0.41), ("rloo", 0.39)):
            write_trial(root / suite, method, seed, [0.25, final + seed / 100], suite=suite)
    write_suite(root / suite, [GRPO, "dr-grpo", "rloo"], seeds, name=suite)
    return root / suite


def test_two_writers_at_once_lose_nothing(server, tmp_path):
    suites = [write_small(tmp_path, name) for name in ("left", "right")]
    writers = [subprocess.Popen([sys.executable, "-c", SYNC, str(suite), server]) for suite in suites]
    assert [writer.wait(timeout=600) for writer in writers] == [0, 0]
    store = client(server)
    for name in ("left", "right"):
        experiment = store.get_experiment_by_name(f"{name} (rules 1)").experiment_id
        runs = list(store.search_runs([experiment], max_results=1000))
        kinds = [run.data.tags["row"] for run in runs]
        assert {kind: kinds.count(kind) for kind in set(kinds)} == {"seed": 15, "method": 4, "board": 1}
        assert all(run.info.status == "FINISHED" for run in runs)


def test_a_new_store_survives_several_first_uses(tmp_path):
    uri = default_uri(tmp_path)
    code = f"from harness.tracking import prepare_store; prepare_store({uri!r})"
    users = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
    assert [user.wait(timeout=600) for user in users] == [0] * 4


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_the_link_opens_a_sorted_table_with_score_interval_and_cost(server, tmp_path):
    runs = write_demo(tmp_path / "demo")
    made = board(runs)
    done = sync(made, runs, server)
    link = deep_link(done.experiment_id, server)
    page = browse(link, tmp_path, "--dump-dom").stdout
    text = re.sub(r"<[^>]+>", "\n", page)
    for word in ("score", "score interval", "difference", "verdict", "waste", "0.4693", "[0.430, 0.508]", "better"):
        assert word in text, word
    names = [row.method for row in made.rows if len(row.method) < 18]  # longer ones are cut by the page
    assert sorted(names, key=lambda name: place_of(name, page)) == names
    browse(link, tmp_path, f"--screenshot={tmp_path / 'mlflow.png'}")
    assert (tmp_path / "mlflow.png").stat().st_size > 50_000


def place_of(name: str, page: str) -> int:
    """The number of a table's row: the page draws rows in any order and puts each in its place."""
    rows = [row.split('"', 1) for row in page.split('row-index="')[1:]]
    return next(int(number) for number, cells in rows if f">{name}<" in cells)


def browse(link: str, folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Chromium on a page, to the end of its scripts."""
    assert CHROMIUM is not None
    profile = f"--user-data-dir={folder / 'profile'}"
    return subprocess.run(
        [CHROMIUM, *FLAGS, profile, *flags, link], check=True, capture_output=True, text=True, timeout=300
    )
