"""Where a suite's runs lie: `<out>/<suite>/<method>/seed-<n>/`, with the resolved suite beside them."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, UsageError
from harness.files import write_text
from harness.suites.expand import slug
from harness.suites.reader import Layer
from harness.suites.schema import Suite
from harness.training.config import TrialConfig
from harness.yaml12 import load

__all__ = ["DEFAULT_OUT", "BusyError", "RunDirectory", "locked"]

DEFAULT_OUT = Path("runs")

# These may change between two calls of `harness run`: they add trials or decide when one is given up, never a number.
_FREE = {
    "methods", "seeds", "question", "baseline", "honesty", "limits", "resources", "checkpoint_seconds", "plugins",
    "sandbox",
}  # fmt: skip


class RunDirectory:
    """The directory of one suite's runs."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of(cls, name: str, out: Path | None = None) -> RunDirectory:
        """The directory of the suite called `name` below `out` (default ./runs)."""
        return cls((out or DEFAULT_OUT) / name)

    @property
    def out_option(self) -> str:
        """The option that finds this directory again; empty where it lies in the default place."""
        return "" if self.path.parent == DEFAULT_OUT else f" --out {self.path.parent}"

    @property
    def suite_file(self) -> Path:
        """The resolved suite, every method and seed ever asked for included."""
        return self.path / "suite.yaml"

    def trial(self, config: TrialConfig) -> Path:
        """Where one trial keeps its files: beside those of its row, a search trial in a folder of their own."""
        row = self.row(config.row)
        if config.tuned is not None and config.tuned.number is not None:
            row = row / "tuning" / f"trial-{config.tuned.number}"
        return row / f"seed-{config.seed}"

    def row(self, stack: str) -> Path:
        """Where a row of the board keeps its trials."""
        return self.path / slug(stack)

    def suite(self) -> Suite | None:
        """The suite that ran here; None before the first run."""
        if not self.suite_file.is_file():
            return None
        data, lines = load(self.suite_file)
        return Suite.check(Layer(data, {path: f"{self.suite_file}:{line}" for path, line in lines.items()}))

    def has_trials(self) -> bool:
        """Whether any trial has begun here."""
        return any(next(self.path.glob(f"*/{below}seed-*/*.json*"), None) for below in ("", "tuning/*/"))

    def record(self, suite: Suite, stacks: Sequence[str]) -> Suite:
        """Write the suite beside its runs: with `stacks` for its methods, together with what was there before.

        Raises UsageError when what was there ran under other settings: their numbers would not be comparable. Where
        nothing ran yet, other settings take its place.
        """
        with locked(self.path):  # another `harness run` may add its methods at this moment
            methods, seeds, plugins = tuple(stacks), suite.seeds, suite.plugins
            before = self._before(suite)
            if before is not None:
                methods = tuple(dict.fromkeys((*before.methods, *methods)))
                seeds = tuple(sorted({*before.seeds, *seeds}))
                plugins = tuple(dict.fromkeys((*before.plugins, *plugins)))
            whole = suite.model_copy(update={"methods": methods, "seeds": seeds, "plugins": plugins})
            write_text(self.suite_file, whole.to_yaml())
        return whole

    def _before(self, suite: Suite) -> Suite | None:
        """The suite that was recorded here, if its rows belong to this one's."""
        ran = self.has_trials()
        try:
            before = self.suite()
        except HarnessError:
            if ran:
                raise
            return None
        changed = [] if before is None else _changed(before, suite)
        if changed and not ran:
            return None
        if changed:
            more = f" (and {len(changed) - 2} more)" if len(changed) > 2 else ""
            raise UsageError(
                f"{self.path} holds runs of other settings: {'; '.join(changed[:2])}{more}; "
                f"give another directory with --out, or remove them with `harness clean {suite.name}{self.out_option}`"
            )
        return before


def _changed(before: Suite, suite: Suite) -> list[str]:
    """The settings that must not differ between runs of one board, and do."""
    there, here = _flat(before.resolved()), _flat(suite.resolved())
    return [
        f"{key} is {there.get(key)!r} there and {here.get(key)!r} now"
        for key in dict.fromkeys([*there, *here])
        if key.split(".")[0] not in _FREE and there.get(key) != here.get(key)
    ]


def _flat(data: Any, stem: str = "") -> dict[str, Any]:
    """Nested mappings as dotted keys."""
    if not isinstance(data, Mapping):
        return {stem: data}
    return {key: value for name in data for key, value in _flat(data[name], f"{stem}.{name}" if stem else name).items()}


class BusyError(HarnessError):
    """Another process trains in this directory."""


@contextmanager
def locked(directory: Path, patience: float = 60.0) -> Iterator[None]:
    """Hold a trial's directory alone, waiting `patience` seconds for an orphaned worker to finish its step.

    Raises BusyError where another process, here or on the same disk, goes on training in it.
    """
    directory.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + patience
    with (directory / ".lock").open("a+") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise BusyError(f"{directory} is in use by another `harness run`") from None
                time.sleep(0.2)
        yield
