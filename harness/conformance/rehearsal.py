"""The rehearsal: a tiny trial of a stack after two real steps, whose third can be lived through under any change.

A step is the loop's own stages; what the checks look at is the `Outcome` of the stages before the update, with the
gradient of the composed loss with respect to what the policy said.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness.batch import Batch, PolicyOutput
from harness.conformance.outcome import Outcome, keys_of, shown
from harness.conformance.plugin_state import Memory
from harness.conformance.probe_batch import Edit, cloned, decorated, noisy, unchanged
from harness.conformance.task import PROMPTS, tiny_trial
from harness.training.loop import STAGES, step
from harness.training.passes import Pass
from harness.training.stages.rounds import rounds
from harness.training.state import seeded

if TYPE_CHECKING:
    from harness.conformance.journal import Journal
    from harness.host import Catalogue
    from harness.training.setup import Trial

__all__ = ["WARM", "Rehearsal", "Said"]

WARM = 2
_BEFORE_UPDATE = STAGES[1 : [stage.__name__ for stage in STAGES].index("update")]

Leaves = dict[str, Tensor]


@dataclasses.dataclass(frozen=True)
class Said:
    """What the policy said about a batch that is ready for the loss: `leaves` are differentiable, by name."""

    batch: Batch
    work: Pass
    whole: Mapping[str, Tensor]

    def leaves(self) -> Leaves:
        """Fresh copies with gradient of all that is floating point; the others as they are."""
        return {
            name: x.detach().clone().requires_grad_() if x.is_floating_point() else x for name, x in self.whole.items()
        }

    def output(self, leaves: Leaves) -> PolicyOutput:
        return self.work.output(leaves)


class Rehearsal:
    """A stack in the middle of a tiny trial."""

    def __init__(
        self,
        stack: str,
        catalogue: Catalogue,
        *,
        seed: int = 0,
        dtype: str = "float64",
        warm: int = WARM,
        micro_batch: int = 64,
        prompts: int = PROMPTS,
        journal: Callable[[Any], Journal] | None = None,
    ) -> None:
        """warm: real steps before the one to look at; journal: made for the hooks before the first of them."""
        self.trial: Trial = tiny_trial(
            stack, catalogue, seed=seed, dtype=dtype, micro_batch=micro_batch, prompts=prompts
        )
        self.context = self.trial.context
        self.hooks = self.context.hooks
        self.seed, self.number = seed, warm
        self.journal = journal(self.hooks) if journal else None
        for number in range(warm):
            step(self.context, self.trial.lag, number)
        self._begin()
        with seeded(seed, warm):
            rounds(self.context)
        state = self.context.state
        assert state.gathered is not None
        self._probe = decorated(state.gathered.replace(kept=torch.ones_like(state.gathered.kept)))
        self._place = {name: getattr(state, name) for name in ("round", "draws")} | {"places": dict(state.places)}
        self._memory = Memory(self.trial.stack)
        self.rollouts = self.journal.rollouts if self.journal else None
        self.said_in_steps = tuple(self.journal.said) if self.journal else ()  # real steps, no replays
        # by hook, what it returned up to here
        self.returned = {} if self.journal is None else {k: tuple(v) for k, v in self.journal.returned.items()}

    @property
    def probe(self) -> Batch:
        """The rows of the step, as tensors of their own: what a plugin does to them in place is done to a copy."""
        return cloned(self._probe)

    @contextlib.contextmanager
    def moment(self) -> Iterator[None]:
        """Plugins and state where they were after the rounds of the step, and torch's global generator where it was."""
        self.rewind()
        with seeded(self.seed, self.number):
            yield

    def rewind(self) -> None:
        """Put plugins and state where they were after the rounds of the step."""
        self._begin()
        self._memory.restore()
        for name, value in self._place.items():
            setattr(self.context.state, name, dict(value) if isinstance(value, dict) else value)
        self.context.metered.forget()
        self.context.learner.begin()

    def _begin(self) -> None:
        self.context.state.begin_step(self.number, self.context.ledger.progress)
        self.context.age = self.trial.lag.begin_step()

    # -- the step ------------------------------------------------------------------------------------------------

    def outcome(self, change: Edit = unchanged, *, after: Edit = unchanged) -> Outcome:
        """The step on the probe after a change; `after` changes what is known of the rows once they are annotated."""
        with self.moment():
            batch = self.prepare(change(self.probe), after)
            return Outcome({}, 0.0, 0.0, ()) if batch is None else self.lose(self.said(batch))

    def prepare(self, gathered: Batch, after: Edit = unchanged) -> Batch | None:
        """From sampled rows to what enters the loss; None where no row is kept or nothing trains."""
        context = self.context
        batch = gathered.replace(group_keys=gathered.prompt)
        batch = batch.replace(group_keys=self.hooks.group_by(batch=batch))
        batch = batch.replace(kept=self.hooks.keep(batch=batch))
        context.state.gathered = batch
        batch = batch[batch.kept]
        if not len(batch):
            return None
        for stage in _BEFORE_UPDATE:
            batch = stage(context, batch)
            if stage.__name__ == "annotate":
                batch = after(noisy(batch))
        return batch if bool((batch.mask > 0).any()) else None

    def said(self, batch: Batch) -> Said:
        """A pass of the policy, and of what the stack built, over a batch."""
        learner = self.context.learner
        work = Pass(self.context.policy, batch, self.context.needs, learner.called, 4096)
        return Said(batch, work, work.without_gradient())

    def objective(self, said: Said, leaves: Leaves) -> tuple[Tensor, Tensor, Batch]:
        """(the loss, the sum of the regularizers, the batch with its weights), as the learner composes them."""
        batch, output = said.batch.replace(), said.output(leaves)
        batch = batch.replace(weights=self.hooks.aggregate(batch=batch))
        loss = self.hooks.loss(batch=batch, output=output)
        extra = self.hooks.penalty(batch=batch, output=output)
        return loss, leaves["logp"].new_zeros(()) if extra is None else extra, batch

    def lose(self, said: Said, change_leaves: Callable[[Leaves], Leaves] = lambda leaves: leaves) -> Outcome:
        """The loss of a batch and its gradients."""
        leaves = change_leaves(said.leaves())
        loss, extra, batch = self.objective(said, leaves)
        differentiable = {name: x for name, x in leaves.items() if x.is_floating_point()}
        total = loss + extra
        found: tuple[Tensor | None, ...] = (None,) * len(differentiable)
        if total.requires_grad:
            found = torch.autograd.grad(total, list(differentiable.values()), allow_unused=True)
        rows = shown(batch)
        for (name, leaf), gradient in zip(differentiable.items(), found, strict=True):
            rows[f"gradient:{name}"] = torch.zeros_like(leaf) if gradient is None else gradient
        keys = keys_of(batch)
        order = sorted(range(len(batch)), key=keys.__getitem__)
        rows = {name: x.detach()[order].to(torch.float64) for name, x in rows.items()}
        return Outcome(rows, float(loss.detach()), float(extra.detach()), tuple(keys[i] for i in order))
