"""One look a method, the same in every figure and every suite: its colour follows from its name alone.

Ten colours lie at least 17 CIELAB units apart for readers of all colours and for the three kinds of colour blindness.
Where two methods of a board share a colour, line style and marker tell them apart, as they do in print without colour.
The baseline is black, controls are grey.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from harness.leaderboard.model import UNTRAINED, role_of

__all__ = ["BASELINE", "CONTROL", "PALETTE", "Look", "colours", "looks", "styles"]

BASELINE = "#000000"
CONTROL = "#8c8c8c"
PALETTE = (
    "#3d9fd9", "#e69f00", "#332288", "#117733", "#b8a24a", "#8a4fd0", "#661100", "#aa4499", "#d55e00", "#882255",
)  # fmt: skip
STYLES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*", "h")


@dataclass(frozen=True)
class Look:
    """How a method is drawn."""

    colour: str
    style: str = "-"
    marker: str = "o"


CONTROLS = {"placebo": Look(CONTROL, "--", "s"), "random-reward": Look(CONTROL, ":", "X")}


def looks(methods: Sequence[str], baseline: str | None = None) -> dict[str, Look]:
    """Method -> look, no two alike; the baseline is the first unless named.

    A method keeps its colour on every board. Style and marker are its own too, unless a method that comes before it by
    name has taken them.
    """
    first = baseline or (methods[0] if methods else "")
    found = {UNTRAINED: Look(CONTROL, "-.", "D")}
    taken: list[Look] = []
    for method in sorted(set(methods)):
        role = role_of(method)
        if method == first:
            found[method] = Look(BASELINE)
        elif role in CONTROLS:
            found[method] = CONTROLS[role]
        else:
            found[method] = free_look(method, taken)
            taken.append(found[method])
    return found


def free_look(method: str, taken: Sequence[Look]) -> Look:
    """The look that a method's name asks for, or one that sets it apart, from those of its colour above all.

    Style and marker together are no other method's either, while there are enough of them: a print has no colours.
    """
    digest = hashlib.sha256(method.encode()).digest()
    colour = PALETTE[int.from_bytes(digest[:4], "big") % len(PALETTE)]
    choices = list(product(turned(STYLES, digest[4]), turned(MARKERS, digest[5])))
    pairs = Counter((look.style, look.marker) for look in taken)
    alike = [look for look in taken if look.colour == colour]
    of_colour = Counter((look.style, look.marker) for look in alike)
    parts = Counter(part for look in alike for part in (look.style, look.marker))
    best = min(choices, key=lambda pair: (of_colour[pair], pairs[pair], parts[pair[0]] + parts[pair[1]]))
    return Look(colour, *best)


def turned(values: Sequence[str], by: int) -> list[str]:
    """The values, begun at another place."""
    start = by % len(values)
    return [*values[start:], *values[:start]]


def colours(methods: Sequence[str], baseline: str | None = None) -> dict[str, str]:
    """Method -> colour."""
    found = looks(methods, baseline)
    return {method: found[method].colour for method in methods}


def styles(methods: Sequence[str], baseline: str | None = None) -> dict[str, str]:
    """Method -> line style."""
    found = looks(methods, baseline)
    return {method: found[method].style for method in methods}
