from __future__ import annotations

import socket
import sys

import pytest

from harness.cli import ui
from harness.errors import UsageError
from harness.tracking import deep_link

BOARDS = {"tiny (rules 1)": "3", "tiny (rules 1, runs 3fa2c1)": "4", "small (rules 1)": "5"}
ADDRESS = "http://127.0.0.1:5000"


@pytest.mark.parametrize(("suite", "ids"), [(None, "345"), ("tiny", "34"), ("tiny (rules 1)", "3"), ("small", "5")])
def test_each_board_has_its_link(suite, ids, capsys):
    ui.announce(BOARDS, ADDRESS, suite, browser=False)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ", 1)[1] for line in lines] == [deep_link(number, ADDRESS) for number in ids]


def test_the_browser_opens_the_board_itself(monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    ui.announce(BOARDS, ADDRESS, "small", browser=True)
    assert opened == [deep_link("5", ADDRESS)]


def test_a_store_without_boards_opens_as_it_is(capsys):
    ui.announce({}, ADDRESS, None, browser=False)
    assert capsys.readouterr().out == f"MLflow: {ADDRESS}\n"


def test_unknown_suites_and_missing_stores_are_one_line(tmp_path):
    with pytest.raises(UsageError, match=r"no board of 'tyny' in MLflow\..*tiny"):
        ui.announce(BOARDS, ADDRESS, "tyny", browser=False)
    with pytest.raises(UsageError, match=r"no MLflow store at .*: harness run"):
        ui.ui(None, tmp_path, None, 5000, browser=False)


@pytest.mark.parametrize(
    ("tty", "variables", "expected"),
    [
        (True, {"DISPLAY": ":0"}, True),
        (True, {"WAYLAND_DISPLAY": "wayland-0"}, True),
        (True, {}, False),
        (False, {"DISPLAY": ":0"}, False),
        (True, {"DISPLAY": ":0", "SSH_CONNECTION": "a b"}, False),
    ],
)
def test_a_browser_opens_only_where_somebody_sees_it(monkeypatch, tty, variables, expected):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: tty, raising=False)
    assert ui.has_screen() is expected


def test_a_port_in_use_is_passed_over():
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        assert ui.free_port(port) > port
