"""Checks of a suite on this machine: what it needs, whether that is here, and whether its dearest step fits."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.doctor.findings import FIX, OK, WARN, Check, Finding

if TYPE_CHECKING:
    from harness.policies.text import Text
    from harness.suites.schema import Suite
    from harness.training.config import PolicyConfig, TrialConfig
    from harness.training.memory import Plan

__all__ = ["SuiteChecks"]

ANSWER = 10.0  # seconds that a server may take to say what it serves


class SuiteChecks:
    """The checks of one suite, each told apart from the others' faults."""

    def __init__(self, suite: Suite, out: Path, *, workers: int = 0, quick: bool = False) -> None:
        from harness.suites.expand import trials
        from harness.suites.run import side_by_side

        self.suite, self.out, self.quick = suite, out, quick
        self.trials = trials(suite)
        self.workers = min(workers or side_by_side(suite), len(self.trials))

    def checks(self) -> dict[str, Check]:
        """By the subject under which a fault of the check itself is told."""
        found: dict[str, Check] = {
            "suite": self.settings, "extras": self.extras, "server": self.server, "model": self.model,
            "tasks": self.tasks, "prompts": self.prompts, "sandbox": self.sandbox, "budget": self.budget,
            "disk": self.disk, "memory": self.memory,
        }  # fmt: skip
        return found if self.quick else {**found, "step": self.step}

    def settings(self) -> Iterator[Finding]:
        count, limit = len(self.trials), self.suite.limits.seconds
        text = f"{self.suite.name}: {count} trials, {self.workers} at a time, {limit:g} s at most each"
        yield Finding(OK, "suite", text)

    def extras(self) -> Iterator[Finding]:
        from harness.suites.missing import missing

        for subject, text in missing(self.suite):
            yield Finding(FIX, subject, text)

    def server(self) -> Iterator[Finding]:
        """A server that samples must answer, and serve a model."""
        sampler = self.suite.sampler
        if sampler.engine != "vllm" or sampler.vllm.server is None:
            return
        from harness.engines.server import Server

        found = Server(sampler.vllm.server, min(sampler.vllm.timeout, ANSWER))
        room = "" if found.room is None else f", {found.room} tokens of prompt and completion"
        yield Finding(OK, "server", f"{found.url} serves {found.model}{room}")

    def model(self) -> Iterator[Finding]:
        from harness.policies.hub import commit_of
        from harness.policies.registry import resolve
        from harness.policies.size import check_files

        policy = self.suite.policy
        path = resolve(policy.model, policy.revision)
        commit = commit_of(path)
        check_files(path)
        yield Finding(
            OK, "model", f"{policy.model}: {_numbers(policy)} in {path}" + (f", commit {commit}" if commit else "")
        )

    def prompts(self) -> Iterator[Finding]:
        """How they are written, how long they are, what ends a completion."""
        from harness.policies.registry import resolve
        from harness.suites.room import check_room
        from harness.tasks.load import load_task

        policy, text = self.suite.policy, self._text
        path = resolve(policy.model, policy.revision)
        kind = "the tokenizer's chat template" if text.chat else "plain prompts"
        if text.chat and policy.system is not None and not text.takes_system:
            kind += ", which takes no system's turn: it stands in front of the user's"
        yield Finding(OK, "prompts", f"{kind}; the longest has {self.prompt} tokens")
        if not (policy.stop or _ends(path) or text.tokenizer.eos_token_id is not None):
            yield Finding(
                WARN, "prompts", "no token ends a completion: all run to sampling.max_tokens; name one in policy.stop"
            )
        check_room(self.suite, [load_task(share.task, share.options) for share in self.suite.tasks])

    def tasks(self) -> Iterator[Finding]:
        from harness.tasks.load import load_task

        for share in self.suite.tasks:
            task = load_task(share.task, share.options)
            split = self.suite.evaluation.split
            counts = ", ".join(f"{len(task.problems(name))} {name}" for name in ("train", split))
            yield Finding(OK, "task", f"{share.task}: {counts} problems")
            for note in task.notes():
                yield Finding(WARN, "task", note)

    def sandbox(self) -> Iterator[Finding]:
        from harness.suites.preflight import check_suite

        check_suite(self.suite)
        yield from ()

    def budget(self) -> Iterator[Finding]:
        from harness.suites.first_step import check_first_step

        check_first_step(self.trials)
        budget = self.suite.budget
        yield Finding(OK, "budget", f"{budget.limit:g} {budget.currency} buy a first step of every stack")

    def disk(self) -> Iterator[Finding]:
        plan = self._heaviest[1]
        each = 2 * (plan.held["optimizer"] // 2 * 3)  # two checkpoints of weights and moments
        place = next(path for path in (self.out, *self.out.absolute().parents) if path.exists())
        free, whole = shutil.disk_usage(place).free, each * len(self.trials)
        text = f"checkpoints of {len(self.trials)} trials take {whole / 2**30:.2f} GiB, {free / 2**30:.1f} are free"
        mark = OK if whole < 0.8 * free else FIX
        yield Finding(
            mark, "disk", text + ("" if mark == OK else "; run fewer seeds, use policy.lora, or another --out")
        )

    def memory(self) -> Iterator[Finding]:
        from harness.suites.memory import said

        for number, line in enumerate(said(self.trials, self.workers)):
            yield Finding(WARN if number else OK, "memory", line.removeprefix("memory, "))

    def step(self) -> Iterator[Finding]:
        """A step of the heaviest stack at the worst lengths; a smaller micro-batch where it does not fit."""
        from harness.doctor.measure import largest_that_fits, try_step
        from harness.training.memory import gib

        trial, limit = self._heaviest[0], self._limit()
        micro, room = trial.learner.micro_batch, "" if limit is None else f" of {gib(limit)}"
        found = try_step(trial, self.prompt, limit=limit)
        if found.fits:
            text = f"{trial.method} at the longest lengths took {found.seconds:.1f} s and {gib(found.peak)} GiB{room}"
            yield Finding(OK, "step", text)
            if not found.updates:
                yield Finding(WARN, "step", f"{trial.method} made no update in it, so training was not measured")
            return

        def fits(size: int) -> bool:
            return try_step(_with_micro_batch(trial, size), self.prompt, limit=limit).fits

        best = largest_that_fits(micro, fits)
        most = "there is" if limit is None else f"{gib(limit)} GiB"
        said = f"{trial.method} with learner.micro_batch = {micro} needs more than {most}"
        if best:
            yield Finding(FIX, "step", f"{said}; {best} fits, as measured: --set learner.micro_batch={best}")
        else:
            ways = "policy.lora, policy.gradient_checkpointing, a smaller sampling.max_tokens or fewer --workers"
            yield Finding(FIX, "step", f"{said}, and so does 1: give {ways}")

    # -- inside --------------------------------------------------------------------------------------------------

    @cached_property
    def prompt(self) -> int:
        """Tokens of the longest prompt, template and system's words included."""
        from harness.training.prompts import longest_texts

        system = self.suite.policy.system
        return max((len(self._text.prompt(text, system)) for text in longest_texts(self.trials[0])), default=1)

    @cached_property
    def _text(self) -> Text:
        from harness.policies.load import load_tokenizer
        from harness.policies.text import Text as Tokens

        policy = self.suite.policy
        return Tokens(load_tokenizer(policy.model, policy.revision), chat=policy.chat, options=policy.chat_options)

    @cached_property
    def _heaviest(self) -> tuple[TrialConfig, Plan]:
        from harness.suites.memory import heaviest

        return heaviest(self.trials)

    def _limit(self) -> int | None:
        """Bytes that one trial may hold: the suite's limit, and its share of what is free."""
        from harness.suites.memory import available
        from harness.suites.schema import parse_bytes

        free = available(self.suite.policy.device)
        said, sampler = self.suite.limits.memory, self.suite.sampler
        if free is not None and sampler.colocated and self.suite.policy.device.startswith("cuda"):
            free = int(free * (1 - sampler.vllm.gpu_memory))  # the engine has the rest of the GPU
        found = [] if free is None else [free // self.workers]
        return min(found if said is None else [*found, parse_bytes(said)], default=None)


def _with_micro_batch(trial: TrialConfig, size: int) -> TrialConfig:
    return trial.model_copy(update={"learner": trial.learner.model_copy(update={"micro_batch": size})})


def _numbers(policy: PolicyConfig) -> str:
    """How many parameters there are, and how many of them train."""
    from harness.policies.size import size_of

    size = size_of(policy)
    if policy.lora is None:
        return f"{size.parameters / 1e6:.1f}M parameters"
    return f"{size.parameters / 1e6:.1f}M parameters, an adapter of {size.adapter / 1e6:.2f}M"


def _read(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _ends(path: Path) -> bool:
    """Whether the model names a token that ends a text."""
    return any(_read(path / name).get("eos_token_id") is not None for name in ("generation_config.json", "config.json"))
