"""One trial from its settings to its result; the same call again resumes it."""

from __future__ import annotations

import contextlib
import dataclasses
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.budget import BudgetSpent
from harness.distributed import SOLO, World
from harness.errors import HarnessError, blamed, told
from harness.files import read_json, write_json
from harness.host.unweighed import unweighed
from harness.training import TRAINING_SEMANTICS, checkpoint
from harness.training.files import TrialFiles
from harness.training.loop import step
from harness.training.measures import Diverged
from harness.training.memory import out_of_memory, ran_out
from harness.training.provenance import provenance
from harness.training.result import TrialResult, trial_key
from harness.training.resume import resume, tree
from harness.training.schedule import due
from harness.training.setup import Trial, key_of, make, open_sandbox

if TYPE_CHECKING:
    from harness.host import Catalogue
    from harness.training.config import TrialConfig

__all__ = ["TrialResult", "run_trial", "trial_key"]

SAMPLES = 8  # completions of an evaluation that samples.jsonl keeps


def run_trial(
    config: TrialConfig,
    directory: Path,
    *,
    should_stop: Callable[[], bool] = lambda: False,
    heartbeat: Callable[[dict[str, Any]], None] = lambda _: None,
    catalogue: Catalogue | None = None,
    evaluate: Callable[..., Any] | None = None,
    programs: bool = False,
    world: World = SOLO,
) -> TrialResult:
    """Run a trial, or resume it from the newest whole checkpoint in `directory`; at once if it is done.

    What an unfinished trial with another key left there is overwritten. `evaluate(policy, tasks, config, seed=,
    sandbox=)` gives a report with `score`, `tasks` and `items`; without it nothing is evaluated. With `programs` it
    gets a sandbox, whether or not the tasks that train need one. `should_stop` is asked after every step: True
    checkpoints and ends with "interrupted". A fault of settings, plugin or harness ends in the result's status and
    one-line error, its traceback in traceback.txt. Raises HarnessError where another trial is done.

    Of several ranks, all call this, each with a directory of its own: that of the first is the trial's.
    """
    directory = Path(directory)
    before = read_json(directory / "result.json")
    if before.get("status") == "done":
        _refuse_another(config, directory, catalogue)
        return TrialResult.read(before)
    files = TrialFiles(directory)
    runner: _Runner | None = None
    try:
        with open_sandbox(config, world, programs=programs) as (task, sandbox), contextlib.ExitStack() as resources:
            trial = make(config, task, sandbox, catalogue, world=world, resources=resources)
            runner = _Runner(trial, files, evaluate, heartbeat)
            runner.record_settings()
            status = runner.run(should_stop)
            error = None
    except Diverged as fault:
        status, error = "diverged", str(fault)
    except HarnessError as fault:
        status, error = "failed", str(fault)
        _keep_traceback(directory)
    except Exception as fault:  # noqa: BLE001 - the other trials of a suite go on
        status, error = "failed", out_of_memory(config) if ran_out(fault) else _told_with_place(fault)
        _keep_traceback(directory)
    result = runner.result(status, error) if runner is not None else TrialResult("failed", error)
    write_json(directory / "result.json", dataclasses.asdict(result), durable=True)
    return result


def _refuse_another(config: TrialConfig, directory: Path, catalogue: Catalogue | None) -> None:
    """Raise HarnessError unless the trial that is done in `directory` is the one that these settings name."""
    there, here = read_json(directory / "config.json").get("trial_key"), key_of(config, catalogue)
    if there != here:
        raise HarnessError(
            f"{directory} holds the result of another trial (its key is {there}, this one's {here}): "
            "give this trial another directory, or remove that one to run it there"
        )


def _told_with_place(fault: Exception) -> str:
    frame = traceback.extract_tb(fault.__traceback__)[-1]
    return told(fault) + ("" if blamed(fault) else f" ({frame.filename}:{frame.lineno})")


def _keep_traceback(directory: Path) -> None:
    (directory / "traceback.txt").write_text(traceback.format_exc(), encoding="utf-8")


class _Runner:
    """A trial under way: steps, evaluations, checkpoints."""

    def __init__(
        self,
        trial: Trial,
        files: TrialFiles,
        evaluate: Callable[..., Any] | None,
        heartbeat: Callable[[dict[str, Any]], None],
    ) -> None:
        self.trial = trial
        self.world = trial.context.policy.world
        self.files = files
        self.evaluate = evaluate
        self.heartbeat = heartbeat
        self.number = 0  # of the next step
        self.scores: list[float] = []
        self.evaluated_at: float | None = None
        self.saved_at = time.monotonic()
        self.elapsed = 0.0  # by earlier calls
        self.began = time.monotonic()

    @property
    def checkpoints(self) -> Path:
        return self.files.directory / "checkpoints"

    def record_settings(self) -> None:
        """Write config.json; forget what a trial with other numbers left in the directory."""
        trial, path = self.trial, self.files.directory / "config.json"
        digests = {"task": trial.context.task.digest(), "policy": trial.context.policy.digest()}
        spec = trial.stack.spec()
        key = trial_key(trial.config, spec, digests)
        if read_json(path).get("trial_key") != key:
            checkpoint.clear(self.checkpoints)
            self.files.cut({})
        record = {
            "config": trial.config.model_dump(mode="json"),
            "stack": trial.stack.canonical if trial.config.tuned is None else trial.config.row,
            "spec": spec,
            "clips": trial.stack.clips,
            "experimental": trial.stack.experimental,
            "unweighed": unweighed(trial.stack, trial.context.task.reward_weights),
            "digests": digests,
            "trial_key": key,
            "semantics": TRAINING_SEMANTICS,
            "provenance": provenance(),
        }
        if (tuned := trial.config.tuned) is not None:
            record["tuning"] = {"trials": tuned.trials, "spent": tuned.spent}
        write_json(path, record, durable=True)

    def run(self, should_stop: Callable[[], bool]) -> str:
        """Steps until the budget is spent. Returns the status."""
        trial, ledger = self.trial, self.trial.context.ledger
        self._resume()
        limit, why = trial.config.limits.seconds, "nothing is left"
        while ledger.left > 0:
            progress = ledger.progress
            try:
                metrics, timing = step(trial.context, trial.lag, self.number)
            except BudgetSpent as spent:
                why = str(spent)
                break
            self.number += 1
            self.files.append("metrics.jsonl", metrics)
            self.files.append("timing.jsonl", timing)
            self._beat("running")
            evaluated = due(trial.config.evaluation.every, progress, ledger.progress) and ledger.left > 0
            if evaluated:
                self._evaluate()
            late = self.elapsed + time.monotonic() - self.began > limit
            old = time.monotonic() - self.saved_at >= trial.config.checkpoint_seconds
            stopping, late, old = self.world.agree((should_stop(), late, old))
            if evaluated or stopping or late or old:
                self._save()
            if stopping or late:
                return "interrupted" if stopping else "timeout"
        self._evaluate()
        self._save()
        if not self.number:
            budget = f"{ledger.budget.limit:g} {ledger.budget.currency}"
            less = "sampling.prompts, sampling.group_size or sampling.max_tokens"
            raise HarnessError(f"the budget bought no step: of {budget}, {why}; give more, or lower {less}")
        return "done"

    def result(self, status: str, error: str | None) -> TrialResult:
        """The result, from the evaluations so far; writes the ledger."""
        ledger = self.trial.context.ledger
        write_json(self.files.directory / "ledger.json", ledger.state_dict(), durable=True)
        untrained = self.scores[0] if self.scores else None
        last = self.scores[-1] if self.scores else None
        score = last if status in {"done", "interrupted"} or last is None else min(last, self.scores[0])
        return TrialResult(
            status, error, score, untrained, last, ledger.spent, ledger.budget.limit, ledger.left,
            ledger.budget.currency, self.number, self.elapsed + time.monotonic() - self.began,
        )  # fmt: skip

    # -- inside --------------------------------------------------------------------------------------------------

    def _resume(self) -> None:
        """Continue from the newest checkpoint whose files are there too; else begin, with the untrained policy."""
        found = self.world.first(self._newest)
        if found is None:
            self.files.cut({})
            self._evaluate()
            self._save()
            return
        self.number, state = found
        self.files.cut(state["offsets"])
        self.scores = list(state["scores"])
        self.evaluated_at = state["evaluated_at"]
        self.elapsed = float(state["elapsed"])
        resume(self.trial, state["trial"])

    def _newest(self) -> tuple[int, dict[str, Any]] | None:
        """The newest checkpoint that the files reach; those that they do not are removed."""
        while (found := checkpoint.load_newest(self.checkpoints)) is not None:
            if self.files.reaches(found[1]["offsets"]):
                return found
            checkpoint.remove(self.checkpoints, found[0])
        return None

    def _save(self) -> None:
        state = {
            "trial": tree(self.trial),
            "offsets": self.files.offsets(),
            "scores": self.scores,
            "evaluated_at": self.evaluated_at,
            "elapsed": self.elapsed + time.monotonic() - self.began,
        }
        if self.world.leader:
            checkpoint.save(self.checkpoints, self.number, state)
        write_json(self.files.directory / "ledger.json", self.trial.context.ledger.state_dict(), durable=True)
        self.saved_at = time.monotonic()

    def _evaluate(self) -> None:
        """Evaluate the policy as it is, once per amount spent; off the clock, but recorded."""
        config, context = self.trial.config, self.trial.context
        ledger = context.ledger
        if self.evaluate is None or self.evaluated_at == ledger.spent:
            return
        settings = config.evaluation
        if settings.max_tokens is None:
            settings = settings.model_copy(update={"max_tokens": config.sampling.max_tokens})
        self._beat("evaluating")
        tasks = list(context.task.tasks.values())
        report = self.evaluate(context.policy, tasks, settings, seed=config.seed, sandbox=self.trial.sandbox)
        self.evaluated_at = ledger.spent
        self.scores.append(float(report.score))
        place = {"step": self.number, "spent": ledger.spent, "progress": ledger.progress}
        others = {"others": list(found)} if (found := getattr(report, "others", ())) else {}
        record = {**place, "tasks": report.tasks, "score": float(report.score), **others}
        self.files.append("evaluations.jsonl", record)
        items: Sequence[Mapping[str, Any]] = report.items
        self.files.rewrite("items.jsonl", items)
        if len(self.scores) == 1:  # the untrained policy's, which later evaluations are held against
            self.files.rewrite("untrained.jsonl", items)
        # a few texts of every task, evenly: a report lists its examples task by task
        examples: Sequence[Mapping[str, Any]] = getattr(report, "examples", ())
        for example in examples[:: max(1, len(examples) // SAMPLES)][:SAMPLES]:
            self.files.append("samples.jsonl", {**place, **example})
        self._beat("running")

    def _beat(self, doing: str) -> None:
        ledger = self.trial.context.ledger
        score = self.scores[-1] if self.scores else None
        news = {"step": self.number, "spent": ledger.spent, "progress": ledger.progress, "score": score}
        self.heartbeat({**news, "doing": doing})
