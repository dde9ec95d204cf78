"""`harness power`: how many seeds an effect needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options
from harness.cli.leaderboard import OUT, PLUGIN_HELP, load_board, runs_of
from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.leaderboard import Board
    from harness.leaderboard.planning import Plan, Reference

__all__ = ["power", "register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("power")(power)


def power(  # noqa: PLR0917 - each is an option of the command line
    suite: Annotated[
        str | None, typer.Argument(help="A suite's name or file, or the directory of its runs; not needed with --std.")
    ] = None,
    effect: Annotated[float, typer.Option(help="The difference to find; of shares 0.03 is 3 points.")] = ...,  # type: ignore[assignment]
    std: Annotated[
        float | None, typer.Option(min=0, help="Deviation over seeds of the paired difference, instead of the runs'.")
    ] = None,
    chance: Annotated[float, typer.Option("--power", help="The chance of finding it.")] = 0.8,
    comparisons: Annotated[
        int | None, typer.Option(min=1, help="Methods compared on the board; the suite's own by default.")
    ] = None,
    metric: Annotated[str, typer.Option(help="score, auc, a measure (accuracy), a task, or task/measure.")] = "score",
    baseline: Annotated[str | None, typer.Option(help="The stack to compare with; the suite's own by default.")] = None,
    plugin: Annotated[list[Path] | None, typer.Option(help=PLUGIN_HELP)] = None,
    out: Annotated[Path, typer.Option(help="Where runs are kept.")] = OUT,
) -> None:
    """How many seeds it takes to find a difference, and what 5, 10 and 20 seeds can find.

    How much seeds spread is read off the suite's runs, else off its reference results, else given with --std.
    """
    from harness.leaderboard.columns import number, scale, title
    from harness.leaderboard.planning import Spread, plan, spreads

    if suite is None and std is None:
        raise UsageError("name a suite that has run, or give the deviation over seeds with --std")
    board, kept = measured(suite, out, metric, baseline, plugin or (), given=std is not None)
    by = scale(board) if board else 100.0 if kept or abs(effect) < 1 else 1.0  # reference results are of scores
    if by == 100 and abs(effect) >= 1:
        raise UsageError(f"--effect {effect:g}: scores are shares here, write 0.03 for 3 points")
    known = board or kept
    family = comparisons or max(known.comparisons if known else 1, 1)
    if std is not None:
        found, whence = [Spread("as given", std)], "as given with --std"
    elif board is not None:
        found, whence = spreads(board), f"of the runs of {board.suite}"
    else:
        assert kept is not None
        found = list(kept.spreads)
        whence = f"of the reference results of {suite} ({kept.seeds} seeds): it has no runs here that tell"
    plans = plan(found, effect, power=chance, comparisons=family)
    what = f"{number(by * abs(effect))}{' points' if by == 100 else ''}"
    what += f" of {title(board) if board else metric} from {known.baseline}" if known else ""
    show(f"Seeds that find a difference of {what} with a chance of {100 * chance:g} %", plans, by, family, whence)


def measured(
    suite: str | None, out: Path, metric: str, baseline: str | None, plugins: Sequence[Path], *, given: bool
) -> tuple[Board | None, Reference | None]:
    """The board whose seeds tell the spread, or reference results; neither is needed where the spread is given."""
    from harness.leaderboard.planning import reference, spreads

    if suite is None:
        return None, None
    try:
        board = load_board(runs_of(suite, out), metric, baseline, plugins)
        if not given:
            spreads(board)
    except UsageError as error:
        name = options.suite_name(suite) if Path(suite).is_file() else suite
        kept = reference(name) if metric == "score" and baseline is None else None
        if kept is None and given:
            raise
        if kept is None:
            raise UsageError(f"{str(error).removesuffix('.')} (or say how much seeds spread: --std 0.05)") from None
        return None, kept
    return board, None


def show(headline: str, plans: Sequence[Plan], by: float, family: int, whence: str) -> None:
    """Print it."""
    from rich.console import Console
    from rich.table import Table

    from harness.leaderboard.columns import number
    from harness.leaderboard.planning import SHOWN

    console = Console(highlight=False)
    console.print(headline, style="bold")
    console.print(*answer(plans[len(plans) // 2], family), sep="\n")
    many = family > 1
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    heads = ("spread over seeds", "sd", "from", "alone", *((f"among {family}",) if many else ()))
    for head in (*heads, *(f"{seeds} seeds" for seeds in SHOWN)):
        table.add_column(head, no_wrap=head != heads[0])
    for one in plans:
        counts = [counted(one.alone, one.alone_range)]
        counts += [counted(one.among, one.among_range)] if many else []
        least = [number(by * effect) for effect in one.detectable]
        behind = str(one.spread.seeds or "-")
        table.add_row(one.spread.name, number(by * one.spread.deviation), behind, *counts, *least)
    console.print(table)
    among = f" among {family} methods, Holm-adjusted" if many else ""
    ends = "" if plans[0].alone_range is None else (
        " from: the seeds that it was measured on. In brackets: at the ends of the 95 % chi-square interval of sd."
    )  # fmt: skip
    console.print(
        f"sd: of the paired difference, {whence}.{ends} alone: seeds for one planned comparison. N seeds: the least "
        f"difference that so many find as often{among}. A board claims nothing below 5 seeds.",
        style="dim",
    )


def answer(plan: Plan, family: int) -> list[str]:
    """The answer in a line or two: how many seeds, and how little a deviation of few seeds tells about that."""
    from harness.leaderboard.planning import FEW_SEEDS

    said = f"About {plan.alone} as the one planned comparison"
    said += f", {plan.among} as one of {family} on a board" if family > 1 else ""
    if plan.alone_range is None:
        return [f"{said}, if the deviation is exactly that."]
    behind = plan.spread.seeds
    sure = f"Measured on {behind} seeds, the deviation leaves {span(plan.alone_range)} seeds possible"
    sure += f", {span(plan.among_range)} on the board" if family > 1 and plan.among_range else ""
    few = "; plan no experiment on so few, run more first" if behind < FEW_SEEDS else ""
    return [f"{said}.", f"{sure} (95 % of the time){few}."]


def counted(seeds: int, between: tuple[float, float] | None) -> str:
    """'24', or '24 [9\N{EN DASH}178]'."""
    if between is None:
        return str(seeds)
    low, high = (">1M" if end == math.inf else format(end, ".0f") for end in between)
    return f"{seeds} [{low}\N{EN DASH}{high}]"


def span(between: tuple[float, float]) -> str:
    """'9 to 178', '9 to over a million', or '5' where both ends are the same."""
    low, high = between
    if low == high:
        return f"{low:,.0f}"
    return f"{low:,.0f} to {'over a million' if high == math.inf else format(high, ',.0f')}"
