"""With which methods `harness check` tries others in one stack: a wrapper of advantages, and three whole methods."""

from __future__ import annotations

__all__ = ["PARTNERS"]

PARTNERS = ("f-grpo", "dapo", "dr-grpo", "rloo")
