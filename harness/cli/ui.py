"""`harness ui`: MLflow's pages on the store that the suites write to."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from harness import runtime
from harness.cli.leaderboard import OUT
from harness.errors import HarnessError, UsageError
from harness.runtime import Interrupt

__all__ = ["register", "ui"]

POLL = 0.2  # seconds
PATIENCE = 300.0  # seconds until a server must answer: 5 on an idle machine, minutes on a crowded one


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ui")(ui)


def ui(
    suite: Annotated[str | None, typer.Argument(help="Open the board of this suite; by default list them all.")] = None,
    out: Annotated[Path, typer.Option(help="Where runs are kept.")] = OUT,
    tracking_uri: Annotated[str | None, typer.Option(help="MLflow store; by default the one beside the runs.")] = None,
    port: Annotated[int, typer.Option(help="Port on this machine; the next free one is taken.")] = 5000,
    browser: Annotated[bool | None, typer.Option(help="Open a browser; by default where there is a screen.")] = None,
) -> None:
    """Show the boards in MLflow: starts its server on this machine and prints where each board is."""
    from harness.tracking import boards, database, default_uri

    uri = tracking_uri or default_uri(out)
    path = database(uri)
    browser = has_screen() if browser is None else browser
    if path is not None and not path.is_file():
        raise UsageError(f"no MLflow store at {path}: harness run and harness leaderboard SUITE --rebuild make one")
    if path is None:
        announce(boards(uri), uri, suite, browser)
        return
    port = free_port(port)
    address = f"http://127.0.0.1:{port}"
    known = boards(uri)
    interrupt = Interrupt()
    server = start(uri, path, port)
    try:
        with interrupt.listening():
            await_answer(server, address, interrupt)
            announce(known, address, suite, browser)
            typer.echo("Ctrl-C ends the server.", err=True)
            while not interrupt and server.poll() is None:
                time.sleep(POLL)
    finally:
        stop(server)


def announce(found: dict[str, str], address: str, suite: str | None, browser: bool) -> None:
    """Print the link of each board, or of one suite's."""
    from harness.errors import nearest
    from harness.tracking import deep_link

    names = {name.split(" ")[0] for name in found}
    if suite is not None and suite not in names and suite not in found:
        raise UsageError(f"no board of {suite!r} in MLflow.{nearest(suite, names)}")
    links = [
        (name, deep_link(experiment, address))
        for name, experiment in found.items()
        if suite in {None, name, name.split(" ")[0]}
    ]
    for name, link in links or [("MLflow", address)]:
        typer.echo(f"{name}: {link}")
    if browser:
        import webbrowser

        webbrowser.open(links[0][1] if links else address)


def has_screen() -> bool:
    """Whether a browser would open a window in front of who typed the command: not over ssh, not in a script."""
    if not sys.stdout.isatty() or "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform in {"darwin", "win32"} or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def free_port(first: int) -> int:
    """The first free port from `first` on."""
    for port in range(first, first + 100):
        with contextlib.closing(socket.socket()) as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise UsageError(f"--port {first}: no free port from there on")


def start(uri: str, path: Path, port: int) -> subprocess.Popen[bytes]:
    """MLflow's server on the store, in a process group of its own; only this machine reaches it."""
    command = [
        sys.executable, "-m", "mlflow", "server", "--backend-store-uri", uri, "--host", "127.0.0.1",
        "--port", str(port), "--workers", "1",
        "--default-artifact-root", (path.parent / "mlflow-artifacts").as_uri(),
    ]  # fmt: skip
    runtime.prepare()
    log = (path.parent / "mlflow-server.log").open("wb")
    with log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)


def await_answer(server: subprocess.Popen[bytes], address: str, interrupt: Interrupt) -> None:
    """Wait until the server answers; HarnessError where it dies or stays silent."""
    until = time.monotonic() + PATIENCE
    while not interrupt and not answers(address):
        if server.poll() is not None:
            raise HarnessError("MLflow's server ended at once; see mlflow-server.log beside the store")
        if time.monotonic() > until:
            raise HarnessError(f"MLflow's server gave no answer in {PATIENCE:.0f} s; see mlflow-server.log")
        time.sleep(POLL)


def answers(address: str) -> bool:
    """Whether the server is up."""
    import urllib.request

    try:
        urllib.request.urlopen(f"{address}/health", timeout=5).close()  # noqa: S310 - our own http address
    except OSError:  # refused, or not yet ready
        return False
    return True


def stop(server: subprocess.Popen[bytes]) -> None:
    """End the server and its workers."""
    if server.poll() is not None:
        return
    os.killpg(server.pid, signal.SIGTERM)
    try:
        server.wait(timeout=10)
    except subprocess.TimeoutExpired:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
