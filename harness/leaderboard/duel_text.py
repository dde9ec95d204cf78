"""A comparison of two methods as text: for a terminal of 80 x 40, Markdown and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from harness.leaderboard.cells import number
from harness.leaderboard.duel import MOST_TASKS, Duel, Line

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

    from harness.leaderboard.solved import Example

__all__ = ["as_json", "as_markdown", "as_table"]

NAME = 20  # characters of a method's name over a column
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


class as_table:  # noqa: N801 - it is used as a function
    """One screen: the answer, how sure, scores by task and costs, items solved and lost."""

    def __init__(self, found: Duel) -> None:
        self.found = found

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Everything at the console's width."""
        from rich.table import Table
        from rich.text import Text

        found, width = self.found, options.max_width
        yield Text(found.sentence, style="bold")
        yield Text(found.sure)
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        for place, heading in enumerate(("", *headings(found.names), "difference")):
            table.add_column(heading, justify="right" if place else "left", no_wrap=True)
        shown, hidden = shown_lines(found.lines)
        for line in shown:
            table.add_row(line.label, line.first, line.second, line.difference)
        yield table
        if hidden:
            yield Text(f"and {hidden} more tasks that differ less (--format json has all)", style="dim")
        if found.items is not None:
            yield Text(counted(found), style="bold")
            for kind, several in (("solved", found.items.newly_solved), ("lost", found.items.newly_lost)):
                for example in several:
                    yield Text("\n".join(fit(line, width) for line in described(found, kind, example)))
        for note in found.notes:
            yield Text(note, style="dim")


def headings(names: Sequence[str]) -> tuple[str, str]:
    """The names as they fit over columns; A and B where they would look alike."""
    first, second = (fit(name, NAME) for name in names)
    return (first, second) if first != second else ("A", "B")


def shown_lines(lines: Sequence[Line]) -> tuple[list[Line], int]:
    """The lines of one screen, and how many tasks are left out: those that differ least."""

    def gap(line: Line) -> float:
        size = abs(line.values[0] - line.values[1])
        return -1.0 if math.isnan(size) else size

    tasks = [line for line in lines if line.kind == "task"]
    kept = sorted(tasks, key=gap, reverse=True)[:MOST_TASKS]
    return [line for line in lines if line.kind != "task" or line in kept], len(tasks) - len(kept)


def counted(found: Duel) -> str:
    """How many items changed hands."""
    assert found.items is not None
    items = found.items
    tasks = "; ".join(
        f"{task} {number(gained, sign=True)} {number(-lost)}" for task, (gained, lost) in items.tasks.items()
    )
    mean = f", mean over {items.seeds} seeds" if items.seeds > 1 else ", 1 seed"
    several = f" ({tasks})" if 1 < len(items.tasks) <= MOST_TASKS else ""
    return (
        f"Greedy answers of {items.asked:.0f} items: {items.solved:.1f} newly solved, {items.lost:.1f} newly lost"
        f"{several}{mean}"
    )


def described(found: Duel, kind: str, example: Example) -> list[str]:
    """An item in four lines: what was asked, what is right, and what each said."""
    asked = example.prompt if example.prompt is not None else example.key
    first, second = headings(found.names)
    several = f", and {example.seeds - 1} more" if example.seeds > 1 else ""
    said = {"right": example.gold, first: example.first, second: example.second}
    width = max(map(len, said))
    lines = [
        f"  {name:<{width}}  {one_line(text) if text is not None else '(not kept)'}" for name, text in said.items()
    ]
    return [f"{kind} (seed {example.seed}{several}): {one_line(asked)}", *lines]


def one_line(text: str) -> str:
    """A text with its line ends as marks."""
    return "\N{RETURN SYMBOL}".join(text.strip().splitlines()) or "(nothing)"


def fit(text: str, width: int) -> str:
    """A text cut to a width."""
    return text if len(text) <= width else text[: width - 1] + ELLIPSIS


def as_markdown(found: Duel) -> str:
    """The same as Markdown, with every task."""
    lines = [f"**{found.sentence}** {found.sure}.", ""]
    lines += [f"| | {found.names[0]} | {found.names[1]} | difference |", "|---|---:|---:|---:|"]
    lines += [f"| {line.label} | {line.first} | {line.second} | {line.difference} |" for line in found.lines]
    if found.items is not None:
        lines += ["", counted(found) + "."]
        for kind, several in (("solved", found.items.newly_solved), ("lost", found.items.newly_lost)):
            for example in several:
                lines += ["", "```", *described(found, kind, example), "```"]
    lines += ["", *(f"- {note}" for note in found.notes)] if found.notes else []
    return "\n".join(lines) + "\n"


def as_json(found: Duel) -> str:
    """Everything; numbers that do not exist are null."""
    data = asdict(found)
    data["lines"] = [
        {"label": line.label, "kind": line.kind, "first": line.values[0], "second": line.values[1]}
        for line in found.lines
    ]
    interval, difference = data["difference"].pop("interval"), data.pop("difference")
    data["difference"] = {**interval, "p": difference["p"], "p_sign": difference["p_sign"], "p_better": found.p_better}
    del data["p_better"]
    return json.dumps(finite(data), indent=2) + "\n"


def finite(value: Any) -> Any:
    """The same with null for NaN and infinities, which JSON does not have."""
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
