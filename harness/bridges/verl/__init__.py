"""A stack in verl's registries: `register("dr-grpo+f-grpo", max_tokens=1024)`."""

from __future__ import annotations

from harness.bridges.versions import require

VERSION = require("verl")

from harness.bridges.verl.registered import Registered, register  # noqa: E402 - after the version is known to fit

__all__ = ["VERSION", "Registered", "register"]
