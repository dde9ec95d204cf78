"""TRL's GRPOTrainer with the mathematics of a stack: `StackTrainer(..., stack="dr-grpo+f-grpo")`."""

from __future__ import annotations

from harness.bridges.versions import require

VERSION = require("trl")

from harness.bridges.trl.trainer import StackTrainer  # noqa: E402 - after the version is known to fit

__all__ = ["VERSION", "StackTrainer"]
