"""`harness lab [METHODS]`: the gradients of methods against the true gradient, on prompts that can be enumerated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options
from harness.errors import UsageError

__all__ = ["register"]

DEFAULT = (
    "grpo(beta=0)", "reinforce", "rloo", "remax", "dr-grpo", "dapo", "reinforce-pp", "mc-grpo", "f-grpo", "gdpo",
    "raft", "gspo", "cispo",
)  # fmt: skip
BASELINE = "grpo(beta=0)"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("lab")(lab)


def lab(  # noqa: PLR0917 -- typer reads options from the signature
    methods: Annotated[list[str] | None, typer.Argument(help="Stacks; all: every installed method.")] = None,
    group_size: Annotated[str, typer.Option(help="Completions a prompt to try.")] = "2,4,8,16",
    plugin: Annotated[list[Path] | None, typer.Option(help="A Python file with @method classes.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    out: Annotated[Path, typer.Option(help="Where runs are kept.")] = Path("runs"),
    tracking_uri: Annotated[str, typer.Option(help="MLflow store (default: sqlite in --out).")] = "",
    no_tracking: Annotated[bool, typer.Option("--no-tracking", help="Do not write to MLflow.")] = False,
) -> None:
    """Measure bias, noise and sign errors of methods' gradients, and how they change with the setting."""
    from harness.host import build_stack, discover
    from harness.lab.report import table, write
    from harness.lab.study import run_study, settings_for

    catalogue = discover(plugin or ())
    own = [name for name, entry in catalogue.items() if entry.from_file]
    chosen = _chosen(methods or [*DEFAULT, *own], list(catalogue))
    if methods != ["all"]:
        for method in chosen:
            build_stack(method, catalogue)  # a misspelt name is said before anything runs
    study = run_study(
        chosen, settings_for(_sizes(group_size)), plugins=plugin or (), workers=workers, told=_progress(len(chosen))
    )
    print(table(study))
    files = write(study, out / "lab", BASELINE)
    if not no_tracking:
        from harness.lab.track import log
        from harness.tracking import default_uri

        print(f"in MLflow: {log(study, files, tracking_uri or default_uri(out))}")
    print(f"written: {', '.join(map(str, files))}; {study.seconds / 60:.1f} minutes of CPU")


def _chosen(asked: list[str], installed: list[str]) -> list[str]:
    """The stacks asked for; the baseline is always one of them."""
    named = [stack for text in asked for stack in options.stacks("METHODS", text)]
    found = installed if named == ["all"] else named
    return list(dict.fromkeys([BASELINE, *found]))


def _sizes(text: str) -> list[int]:
    try:
        found = sorted({int(part) for part in text.split(",")})
    except ValueError:
        raise UsageError(f"--group-size {text}: write whole numbers with commas, as in 2,4,8,16") from None
    if not found or found[0] < 1 or found[-1] > 256:
        raise UsageError(f"--group-size {text}: each must be 1 to 256")
    return found


def _progress(total: int) -> Callable[[str], None]:
    """Count the methods on a terminal."""
    import sys

    done: list[str] = []

    def told(method: str) -> None:
        done.append(method)
        if sys.stderr.isatty():
            print(f"\r{len(done)} of {total}: {method:<60}", end="", file=sys.stderr, flush=True)

    return told
