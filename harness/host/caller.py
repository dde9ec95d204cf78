"""`HookCaller`: one method per hook, which calls the stack, checks, merges what `all` hooks return, and keeps time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pluggy
import torch

from harness.batch import Batch, PolicyOutput
from harness.defaults import Defaults
from harness.errors import PluginError
from harness.hookspecs import HOOKS, HookSpecs
from harness.host.guard import Guarded
from harness.host.hidden import check_called
from harness.host.place import Call, Owner
from harness.host.trained import own

if TYPE_CHECKING:
    from torch import Tensor

    from harness.host.stack import Seat

__all__ = ["HookCaller"]


class HookCaller:
    """Calls the hooks of one stack for one trial; plugins get `state` where they ask for it.

    seconds: time spent per hook, nested hooks and their checks counted with themselves only. calls: how often each
    hook was called. called: the (label, hook) that ran. current: the hook that is running.
    """

    def __init__(self, seats: Sequence[Seat], state: Any = None, restored: list[Any] | None = None) -> None:
        """restored: a list that takes what the loop itself restores on resume, `run` and the built modules."""
        self.state = state
        self.restored = [] if restored is None else restored
        self.seconds: dict[str, float] = defaultdict(float)
        self.calls: Counter[str] = Counter()
        self.called: set[tuple[str, str]] = set()
        self._seats = tuple(seats)
        self._running: list[Call] = []
        self._nested = 0.0
        self._results: list[tuple[str, Any]] = []  # of the call that ended last
        self.plain_shape: tuple[int, ...] = ()  # of that call too, see `Call`
        self._settled = False
        self._owners: dict[str, Owner] = {}
        self.manager = pluggy.PluginManager("harness")
        self.manager.add_hookspecs(HookSpecs)
        self._register(Owner("defaults", "of the harness", "", trusted=True), Defaults())
        for seat in self._seats:
            entry = seat.entry
            name = str(entry.path) if entry.from_file else entry.slug
            self._register(Owner(seat.label, entry.origin, name), seat.plugin)
        self.manager.check_pending()
        self._relays: dict[str, Callable[..., Any]] = {hook: getattr(self.manager.hook, hook) for hook in HOOKS}

    @property
    def current(self) -> str | None:
        """The hook that is being called, the innermost one; None between calls."""
        return self._running[-1].hook if self._running else None

    def implemented(self, hook: str) -> bool:
        """Whether a plugin of the stack, defaults apart, implements the hook."""
        return any(hook in seat.info.hooks for seat in self._seats)

    def check_hidden(self, step: int) -> None:
        """Raise PluginError if an implementation of the user's stack was never called; for the end of a step.

        A step that did not train settles nothing; once one has passed, further calls cost nothing.
        """
        if not self._settled:
            check_called(self._seats, frozenset(self.called), self.calls, step)
            self._settled = self.calls["loss"] > 0

    # -- hooks, in the order of a training step ----------------------------------------------------------------------

    def start(self, run: Any) -> None:
        self.restored.append(run)
        self._call("start", run=run)

    def build(self, policy: Any, task: Any) -> dict[str, Any]:
        """Every module that the stack builds. Raises PluginError if two plugins use one name."""
        modules = self._merge("build", "module", policy=policy, task=task)
        for label, found in self._results:
            for module in found.values():
                own(module, str(self._owners[label]))
        self.restored.extend(getattr(module, "module", module) for module in modules.values())
        return modules

    def select_prompts(self, pool: Any, count: int) -> Sequence[str]:
        return self._call("select_prompts", pool=pool, count=count)

    def allocate_rollouts(self, prompts: Sequence[str]) -> Sequence[Any]:
        return self._call("allocate_rollouts", prompts=prompts)

    def generate(self, sampler: Any, requests: Sequence[Any]) -> Any:
        return self._call("generate", sampler=sampler, requests=requests)

    def score(self, rollouts: Any, task: Any) -> dict[str, Tensor]:
        """Every reward column, the task's first. Raises PluginError if two plugins use one name."""
        return self._merge("score", "reward column", rollouts=rollouts, task=task)

    def group_by(self, batch: Batch) -> Tensor:
        return self._call("group_by", batch=batch)

    def keep(self, batch: Batch) -> Tensor:
        """[N] bool: the rows that every plugin keeps."""
        kept = torch.ones(len(batch), dtype=torch.bool, device=batch.device)
        for choice in self._call("keep", batch=batch):
            kept = kept & choice
        return kept

    def next_round(self, batch: Batch, round: int) -> Sequence[Any] | None:  # noqa: A002
        return self._call("next_round", batch=batch, round=round)

    def augment(self, batch: Batch) -> Batch:
        return self._call("augment", batch=batch)

    def annotate(self, batch: Batch, policy: Any) -> dict[str, Tensor]:
        """Every extra tensor. Raises PluginError if two plugins use one name."""
        return self._merge("annotate", "extra", batch=batch, policy=policy)

    def shape_rewards(self, batch: Batch) -> Batch:
        return self._call("shape_rewards", batch=batch)

    def estimate_advantages(self, batch: Batch) -> Tensor:
        """Advantages [N, 1] or [N, T]."""
        return self._call("estimate_advantages", batch=batch)

    def train_on(self, batch: Batch) -> Tensor | None:
        """[N, T] bool: the tokens that every plugin trains on; None where no plugin says anything."""
        chosen = None
        for choice in self._call("train_on", batch=batch):
            tokens = choice[:, None].expand(batch.mask.shape) if choice.dim() == 1 else choice
            chosen = tokens if chosen is None else chosen & tokens
        return chosen

    def aggregate(self, batch: Batch) -> Tensor:
        """Weights [N, T], 0 where the mask is 0."""
        return self._call("aggregate", batch=batch)

    def policy_loss(self, batch: Batch, output: PolicyOutput) -> Tensor:
        """Token losses [N, T]."""
        return self._call("policy_loss", batch=batch, output=output)

    def loss(self, batch: Batch, output: PolicyOutput, hooks: HookCaller | None = None) -> Tensor:
        """The scalar policy objective; `hooks` is what the implementation may call, this caller by default."""
        return self._call("loss", batch=batch, output=output, hooks=hooks or self)

    def regularize(self, batch: Batch, output: PolicyOutput) -> list[tuple[str, Tensor]]:
        """(label, term) of every plugin that regularizes, bottom first; terms [N, T] still get the loss's weights."""
        values = self._call("regularize", batch=batch, output=output)
        return [(self._owner(value), value) for value in reversed(values)]

    def penalty(self, batch: Batch, output: PolicyOutput) -> Tensor | None:
        """The sum of what `regularize` gives, terms [N, T] by `batch.weights`; None where no plugin regularizes."""
        total: Tensor | None = None
        for _, term in self.regularize(batch=batch, output=output):
            if term.dim():
                assert batch.weights is not None
                term = (batch.weights * term).sum()  # noqa: PLW2901
            total = term if total is None else total + term
        return total

    def update(self, learner: Any, batch: Batch) -> dict[str, float]:
        return self._call("update", learner=learner, batch=batch)

    def end_step(self, batch: Batch, metrics: Mapping[str, float]) -> dict[str, float]:
        """Every metric that the stack logs; where two plugins use a name, the upper one's is `label/name`."""
        merged: dict[str, float] = {}
        for found in reversed(self._call("end_step", batch=batch, metrics=metrics)):
            owner = self._owner(found)
            merged |= {(f"{owner}/{name}" if name in merged else name): value for name, value in found.items()}
        return merged

    # -- calling -----------------------------------------------------------------------------------------------------

    def _register(self, owner: Owner, plugin: Any) -> None:
        self._owners[owner.label] = owner
        self.manager.register(Guarded(owner, plugin, lambda: self._running[-1], self.called), owner.label)

    def _call(self, hook: str, **arguments: Any) -> Any:
        began, outside = perf_counter(), self._nested
        self._nested = 0.0
        self.calls[hook] += 1
        state = self.state
        arguments["state"] = state
        around = getattr(state, "hook", None)
        if state is not None:
            state.hook = hook  # keys the generator that hooks draw from
        self._running.append(Call(hook, arguments))
        try:
            return self._relays[hook](**arguments)
        finally:
            ended = self._running.pop()
            self._results, self.plain_shape = ended.results, ended.plain_shape
            if state is not None:
                state.hook = around
            took = perf_counter() - began
            self.seconds[hook] += took - self._nested
            self._nested = outside + took

    def _owner(self, value: Any) -> str:
        """The label of the plugin that returned a value of the call that just ended."""
        return next((label for label, result in self._results if result is value), "defaults")

    def _merge(self, hook: str, noun: str, **arguments: Any) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        owners: dict[str, str] = {}
        for found in reversed(self._call(hook, **arguments)):
            owner = self._owner(found)
            for name, value in found.items():
                if name in merged:
                    raise PluginError(
                        f"{hook}: {owners[name]!r} and {owner!r} both return a {noun} named {name!r}; rename one"
                    )
                merged[name], owners[name] = value, owner
        return merged
