"""What a person sees of a run: bars on a terminal, a line a trial elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from harness.suites.executor import Outcome
from harness.suites.worker import Job

__all__ = ["Display"]


class Display:
    """An Observer that shows the whole run and every running trial."""

    def __init__(
        self, total: int, done: int, console: Console, on_end: Callable[[Outcome], None] = lambda _: None
    ) -> None:
        self.on_end = on_end
        self.count, self.done = total, done
        self.bars = Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[note]}"), TimeElapsedColumn(), TimeRemainingColumn(), console=console,
            disable=not console.is_terminal, refresh_per_second=4,
        )  # fmt: skip
        self.whole = self.bars.add_task(
            "starting workers", total=max(total, 1), completed=done, note=f"{done} of {total}"
        )
        self.trials: dict[Job, TaskID] = {}
        self.progress: dict[Job, float] = {}
        self.steps: dict[Job, int] = {}

    def __enter__(self) -> Self:
        if self.done < self.count and not self.bars.console.is_terminal:  # no bars
            self.bars.console.print(f"{self.count - self.done} of {self.count} trials to run", highlight=False)
        self.bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bars.stop()

    def started(self, job: Job) -> None:
        """Add the trial's bar."""
        self.bars.update(self.whole, description="trials")
        self.trials[job] = self.bars.add_task(job.label, total=1.0, note="")

    def beat(self, job: Job, news: dict[str, Any]) -> None:
        """Move the trial's bar, and the whole by the same amount."""
        self.progress[job] = float(news.get("progress") or 0.0)
        if news.get("step") is not None:
            self.steps[job] = int(news["step"])
        note = f"step {news['step']}" if news.get("step") is not None else ""
        note += "  evaluating" if news.get("doing") == "evaluating" else ""
        note += f"  score {news['score']:.3f}" if isinstance(news.get("score"), float) else ""
        self.bars.update(self.trials[job], completed=self.progress[job], note=note)
        self._whole()

    def ended(self, outcome: Outcome) -> None:
        """Remove the trial's bar and say in a line how it ended."""
        self.bars.remove_task(self.trials.pop(outcome.job))
        self.progress.pop(outcome.job, None)
        if outcome.status != "interrupted":
            self.done += 1
        self._whole()
        score = f"score {outcome.score:.3f}" if outcome.score is not None else ""
        steps = self.steps.pop(outcome.job, None)
        score += f"  after {steps} step{'s' * (steps != 1)}" if steps is not None and score else ""
        score += f"  taken up again {outcome.retries} time{'s' * (outcome.retries != 1)}" if outcome.retries else ""
        colour = {"done": "green", "interrupted": "yellow"}.get(outcome.status, "red")
        line = f"[{colour}]{outcome.status:<11}[/] {outcome.job.label}  {score}  {_duration(outcome.seconds)}"
        self.bars.console.print(line, highlight=False, soft_wrap=True)
        if outcome.error:
            self.bars.console.print(f"            {outcome.error}", highlight=False, markup=False, soft_wrap=True)
        self.on_end(outcome)

    def _whole(self) -> None:
        part = self.done + sum(self.progress.values())
        self.bars.update(self.whole, completed=part, note=f"{self.done} of {self.count}")


def _duration(seconds: float) -> str:
    return time.strftime("%H:%M:%S" if seconds >= 3600 else "%M:%S", time.gmtime(seconds))
