"""Messages between the processes: four bytes of length (big-endian) and a body."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

__all__ = ["framed", "receive", "send", "write_all"]


def framed(body: bytes) -> bytes:
    """A body behind its length."""
    return len(body).to_bytes(4, "big") + body


def send(fd: int, message: Any) -> None:
    """A message as JSON."""
    write_all(fd, framed(json.dumps(message).encode()))


def write_all(fd: int, data: bytes) -> None:
    """All of `data`, however little a write takes."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def receive(fd: int) -> Any:
    """The next message; ends the process where the other side has hung up."""
    return json.loads(_read(fd, int.from_bytes(_read(fd, 4), "big")))


def _read(fd: int, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = os.read(fd, min(size - len(data), 1 << 20))
        if not chunk:
            sys.exit(0)
        data += chunk
    return bytes(data)
