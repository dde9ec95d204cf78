"""Whether a trial that lies on disk is the one that would run now: same plugins, data, weights and arithmetic."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from harness.errors import UsageError
from harness.files import read_json
from harness.suites.schema import Suite
from harness.suites.status import FAILURES, TrialStatus

__all__ = ["Present", "changes", "refuse_stale"]


class Present:
    """What a trial of the suite would record of itself if it began now."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        self._specs: dict[str, dict[str, Any]] = {}

    def spec(self, stack: str) -> dict[str, Any]:
        """`Stack.spec()`, as it reads back from a file."""
        from harness.host import build_stack

        if stack not in self._specs:
            self._specs[stack] = json.loads(json.dumps(build_stack(stack, self._catalogue).spec(), default=str))
        return self._specs[stack]

    @cached_property
    def _catalogue(self) -> Any:
        from harness.host import discover

        return discover(self.suite.plugins)

    @cached_property
    def digests(self) -> dict[str, str]:
        """Of the task mixture and the initial weights."""
        from harness.policies.policy import Policy
        from harness.tasks.load import load_task
        from harness.tasks.mixture import Mixture

        suite = self.suite
        tasks = [(load_task(share.task, share.options), share.share) for share in suite.tasks]
        policy = Policy.of(suite.policy, device="cpu")
        return {"task": Mixture(tasks, reward_weights=suite.reward_weights).digest(), "policy": policy.digest()}

    @cached_property
    def semantics(self) -> int:
        """The version of the training arithmetic."""
        from harness.training import TRAINING_SEMANTICS

        return TRAINING_SEMANTICS


def refuse_stale(states: Iterable[TrialStatus], present: Present, out: str = "") -> None:
    """Raise UsageError for a trial with a result, or on its way to one, that would be another one now.

    A trial that failed and has changed since, as when its author mends the plugin, is removed: it begins anew. `out`
    is the option that a command needs to find them.
    """
    for state in states:
        record = read_json(state.directory / "config.json")
        if "trial_key" not in record:  # it never began
            continue
        changed = changes(record, present, state.config.method)
        if not changed:
            continue
        if state.status in FAILURES:
            shutil.rmtree(state.directory)
            continue
        remedy = f"harness clean {state.config.suite}{out} --methods '{state.config.row}'"
        raise UsageError(
            f"{state.directory} was made with {' and '.join(changed)}; start anew with `{remedy}`, "
            "or give another directory with --out"
        )


def changes(record: Mapping[str, Any], present: Present, stack: str) -> list[str]:
    """What differs from config.json's record, in words; empty when nothing does."""
    found = []
    if record.get("semantics") != present.semantics:
        found.append("another version of the training loop")
    before, now = _plugins(record.get("spec", {})), _plugins(present.spec(stack))
    found += [f"another version of {name}" for name in sorted(before.keys() | now) if before.get(name) != now.get(name)]
    digests = record.get("digests", {})
    if digests.get("task") != present.digests["task"]:
        found.append("other task data")
    if digests.get("policy") != present.digests["policy"]:
        found.append("other initial weights")
    return found


def _plugins(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Records of the stack's plugins by name and place."""
    plugins = [plugin for plugin in spec.get("plugins", ()) if isinstance(plugin, dict)]
    return {str(plugin.get("label") or plugin.get("name") or index): plugin for index, plugin in enumerate(plugins)}
