"""The command line: `harness <command>`. A module per command; nothing heavy is imported before a command runs."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Sequence
from typing import Any

__all__ = ["COMMANDS", "app", "main"]

COMMANDS = (
    "run", "status", "methods", "explain", "check", "claims", "lab", "new", "leaderboard", "compare", "power",
    "estimate", "evaluate", "ui", "models", "warmstart", "doctor", "clean", "cite",
)  # fmt: skip


def app() -> object:
    """The typer application, with every command registered by its module's `register(app)`."""
    import typer

    import harness

    application = typer.Typer(
        name="harness", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
        help="Compare policy optimizers for language models under one budget.",
    )  # fmt: skip

    def show_version(asked: bool) -> None:
        if asked:
            print(f"policy-harness {harness.__version__}")
            raise typer.Exit

    @application.callback()
    def _options(
        debug: bool = typer.Option(False, "--debug", help="Show tracebacks."),
        no_plugins: bool = typer.Option(
            False, "--no-plugins", help="Leave out plugins of third parties (as HARNESS_PLUGIN_AUTOLOAD=0 does)."
        ),
        version: bool = typer.Option(
            False, "--version", callback=show_version, is_eager=True, help="Show the version."
        ),
    ) -> None:
        """Options before the command."""

    for name in COMMANDS:
        importlib.import_module(f"harness.cli.{name}").register(application)
    return application


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit: 0 fine, 1 a check or trial failed, 2 usage, 130 interrupted."""
    sys.exit(_run(list(sys.argv[1:] if arguments is None else arguments)))


def _run(arguments: list[str]) -> int:
    from harness.errors import HarnessError, blamed, told
    from harness.runtime import leave_out_plugins, prepare

    prepare()
    debug, no_plugins = "--debug" in arguments, "--no-plugins" in arguments  # wherever they stand
    arguments = [argument for argument in arguments if argument not in {"--debug", "--no-plugins"}]
    if no_plugins:
        leave_out_plugins()
    try:
        code = app()(args=arguments, prog_name="harness", standalone_mode=False)  # type: ignore[operator]
    except HarnessError as error:
        if debug:
            raise
        return _complain(error, error.exit_code)
    except (KeyboardInterrupt, BrokenPipeError) as error:
        return 130 if isinstance(error, KeyboardInterrupt) else 0
    except Exception as error:
        if debug:
            raise
        if hasattr(error, "format_message"):  # the parser's own, whichever library typer takes it from
            return _complain(_with_usage(error), getattr(error, "exit_code", 2))
        if type(error).__name__ == "Abort":
            return 130
        whose = "" if blamed(error) else "this is a fault of the harness or a plugin, "
        return _complain(f"{told(error)}; {whose}--debug shows where", 1)
    return code if isinstance(code, int) else 0


def _with_usage(error: Any) -> str:
    """What the parser found wrong, and how the command is called."""
    context = getattr(error, "ctx", None)
    text = " ".join(error.format_message().split()).rstrip(".")
    text = re.sub(r"Input should be a valid (\w+), unable.*", r"must be a valid \1", text)
    text = text.replace("Input should be", "must be")
    if context is None or not text:  # without arguments the help was shown, and nothing is wrong with them
        return text
    usage = re.sub(r"[{}]", "", " ".join(context.get_usage().split()))
    return f"{text}; {usage[:1].lower()}{usage[1:]}, `{context.command_path} --help` tells more"


def _complain(error: object, code: int) -> int:
    """One line on stderr, or one for each of several faults."""
    for line in getattr(error, "lines", (error,)):
        text = " ".join(str(line).split())
        if text:
            print(f"harness: {text}", file=sys.stderr)
    return code
