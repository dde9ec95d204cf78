"""One look a method, the same in every figure: colours that colour-blind readers tell apart, then line styles."""

from __future__ import annotations

from collections.abc import Sequence

from harness.leaderboard.model import role_of

__all__ = ["BASELINE", "CONTROL", "colours", "styles"]

BASELINE = "#000000"
CONTROL = "#8c8c8c"
# Okabe and Ito's palette without black, yellow darkened so that it shows on white
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#a89a00")
STYLES = ("-", "--", "-.", ":")


def colours(methods: Sequence[str], baseline: str | None = None) -> dict[str, str]:
    """Method -> colour, by the suite's order; the baseline (the first, unless named) is black, controls are grey."""
    first = baseline or (methods[0] if methods else "")
    ranked = [method for method in methods if method != first and role_of(method) == "method"]
    return {
        method: BASELINE if method == first
        else PALETTE[ranked.index(method) % len(PALETTE)] if method in ranked else CONTROL
        for method in methods
    }  # fmt: skip


def styles(methods: Sequence[str], baseline: str | None = None) -> dict[str, str]:
    """Method -> line style, changing where the colours begin again."""
    first = baseline or (methods[0] if methods else "")
    ranked = [method for method in methods if method != first and role_of(method) == "method"]
    return {
        method: STYLES[(ranked.index(method) // len(PALETTE)) % len(STYLES)] if method in ranked else "-"
        for method in methods
    }
