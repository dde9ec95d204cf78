"""TRL's GRPOTrainer with the mathematics of a stack.

TRL generates, scores with its reward functions and steps the optimizer; advantages, masks, weights and losses are the
stack's. What the stack says of an optimizer minibatch is computed on the whole of it, and its gradient is exact for any
loss, however many micro-batches or processes it comes in (see `harness.bridges.objective`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from trl import GRPOConfig
from trl.trainer.utils import split_tensor_dict

from harness.batch import Batch, PolicyOutput
from harness.bridges.contract import TRL, as_stack, check
from harness.bridges.objective import Slopes, objective, slopes
from harness.bridges.state import BridgeRun
from harness.bridges.trl.records import Recorded
from harness.bridges.trl.rows import Verdict, everyone, whole_batch
from harness.bridges.trl.scoring import score
from harness.bridges.trl.settings import facts, prepared, refuse
from harness.bridges.trl.window import ROWS, Window
from harness.errors import HarnessError, UsageError
from harness.host import Stack

__all__ = ["StackTrainer"]


class StackTrainer(Recorded):
    """GRPOTrainer under a stack. Every other argument is TRL's own.

    stack: a stack, its string or a `@method` class; plugins: files to look for methods in. without: hooks that TRL has
    no place for and that the run does without, as named by the refusal. correct: the reward function whose value above
    `correct_above` is the verdict `batch.correct` (default: the first). rowwise: the user's word that a row's token
    losses depend on that row alone, which saves the forward pass that several micro-batches otherwise cost. measure: a
    forward pass after generation, so that hooks before the update know `logp_sampler` and `logp_old`; accumulation
    uses it too. False is the user's word that they read neither; a stack that needs entropy, or puts a KL penalty into
    the reward, gets it anyway.
    """

    def __init__(
        self,
        model: Any,
        reward_funcs: Any = None,
        args: Any = None,
        *positional: Any,
        stack: str | type | Stack,
        without: Collection[str] = (),
        plugins: Sequence[str | Path] = (),
        correct: str | None = None,
        correct_above: float = 0.5,
        rowwise: bool = False,
        measure: bool = True,
        **options: Any,
    ) -> None:
        """Raise UsageError for what the bridge cannot carry, most of it before a model is loaded."""
        self.stack = as_stack(stack, plugins)
        self.without = check(TRL, self.stack, without)
        self.rowwise, self.measure = rowwise, measure
        args = GRPOConfig("trl-stack") if args is None else args
        refuse(args, self.stack.canonical)
        args = prepared(args, reference="reference" in self.stack.needs)
        super().__init__(model, reward_funcs, args, *positional, **options)
        if self.aux_loss_enabled:
            raise UsageError("the trl bridge has no router loss of a mixture of experts; set router_aux_loss_coef=0.0")
        self._verdict = Verdict(self.reward_func_names, correct, correct_above)
        self._facts = facts(self)
        self._hooks = self.stack.caller(self._facts)
        self._hooks.start(run=BridgeRun(self._facts))
        self._unmoved = False  # whether the weights are those that generated
        self._columns: Tensor | None = None
        self._whole: Batch | None = None
        self._windows: list[Window] = []

    # -- generation --------------------------------------------------------------------------------------------------

    def _calculate_rewards(self, *args: Any, **kwargs: Any) -> Tensor:
        """TRL's columns [N, K] of all processes, kept for the batch."""
        self._columns = super()._calculate_rewards(*args, **kwargs)
        return self._columns

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        """TRL's tensors, and the place of each row in the whole batch, which has the stack's advantages and mask."""
        found = super()._generate_and_score_completions(inputs)
        if not self.model.training:  # evaluation is TRL's; plugins must not notice it
            return found
        if "pixel_values" in found:
            raise HarnessError("the trl bridge carries text only, and this batch has images")
        self._whole = self._shaped(self._measured(found, [str(row.get("prompt", "")) for row in inputs]))
        local = len(found["completion_ids"])
        first = self.accelerator.process_index * local
        found[ROWS] = torch.arange(first, first + local, device=self._whole.device)
        found["advantages"] = self._whole.advantage[first : first + local]  # read by nothing but TRL's own tools
        self._log_advantages(self._whole)
        return found

    def _measured(self, found: dict[str, Any], texts: list[str]) -> Batch:
        """The whole batch, with what the policy says now where hooks before the update read it."""
        needs, entropy = self.stack.needs, None
        penalised = "reference" in needs and self._hooks.implemented("shape_rewards")
        known = found.get("old_per_token_logps") is not None
        if "entropy" in needs or ((self.measure or penalised) and not known):
            with torch.no_grad():
                logp, entropy = score(self, self.model, found, found["completion_ids"].shape[1])
            found["old_per_token_logps"] = found["old_per_token_logps"] if known else logp
        self._unmoved = True
        assert self._columns is not None
        entropy = self._wanted(entropy)
        return whole_batch(self, found, self._columns, verdict=self._verdict, texts=texts, entropy=entropy)

    def _shaped(self, batch: Batch) -> Batch:
        """The stages of a step between generation and update."""
        hooks, state = self._hooks, self._facts
        state.begin_step(self.state.global_step, self.state.global_step / max(1, self.state.max_steps))
        batch = batch.replace(group_keys=hooks.group_by(batch=batch))
        state.gathered = batch
        batch = hooks.shape_rewards(batch=batch)
        batch = batch.replace(advantages=hooks.estimate_advantages(batch=batch))
        chosen = hooks.train_on(batch=batch)
        return batch if chosen is None else batch.replace(mask=batch.mask * chosen.to(batch.mask.dtype))

    def _prepare_inputs(self, generation_batch: Any) -> dict[str, Any]:
        """TRL's buffering, with rows left in their order, so that optimizer minibatches hold whole groups."""
        if not self.model.training:
            return super()._prepare_inputs(generation_batch)
        steps, each = self.args.steps_per_generation, self.args.gradient_accumulation_steps
        if self._step % (steps * self.num_iterations) == 0 or self._buffered_inputs is None:
            parts = split_tensor_dict(self._generate_and_score_completions(generation_batch), steps)
            self._buffered_inputs = parts
            self._windows = [self._window(parts[start : start + each]) for start in range(0, steps, each)]
        return self._buffered_inputs[self._step % steps]

    def _window(self, parts: list[dict[str, Any]]) -> Window:
        """The minibatch that the parts of all processes are, with the stack's weights."""
        assert self._whole is not None
        rows = everyone(self.accelerator, torch.cat([part[ROWS] for part in parts]))
        batch = self._whole[rows]
        batch = batch.replace(weights=self._hooks.aggregate(batch=batch))
        return Window(batch, rows, parts)

    # -- the loss ----------------------------------------------------------------------------------------------------

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        """A micro-batch's share of its minibatch's loss; gradients are averaged over processes and nothing else.

        0 in evaluation, which reports rewards: a stack's loss is one of training batches.
        """
        if not self.model.training:
            return torch.zeros((), device=self.accelerator.device)
        each, processes = self.args.gradient_accumulation_steps, self.accelerator.num_processes
        if self.current_gradient_accumulation_steps != each:
            raise HarnessError("the trl bridge needs full optimizer minibatches, and the epoch's last one is cut short")
        window = self._windows[self._step % self.args.steps_per_generation // each]
        whole = each == processes == 1
        if not whole and not self.rowwise and self._step % each == 0:
            window.slopes = self._slopes(model, window)
        logp, entropy = score(self, model, inputs, window.batch.tokens)
        self._log_entropy(entropy, inputs)
        rows = window.rows(inputs)
        if window.slopes is not None:
            return processes * window.slopes.share(rows, logp, entropy, each * processes)
        batch = window.batch if whole else window.batch[rows]
        old = logp.detach() if batch.logp_old is None else batch.logp_old
        output = PolicyOutput(logp=logp, logp_old=old, mask=batch.mask, entropy=self._wanted(entropy))
        return processes * objective(self._hooks, batch, output, part=not whole)

    def _slopes(self, model: Any, window: Window) -> Slopes:
        """The whole minibatch's loss at the weights as they are, differentiated."""
        batch = window.batch
        if self._unmoved and batch.logp_old is not None:  # what was measured after generation still holds
            return slopes(self._hooks, batch, batch.logp_old, self._wanted(batch.entropy))
        with torch.no_grad():
            pairs = [score(self, model, part, batch.tokens) for part in window.parts]
        logp, entropy = (everyone(self.accelerator, torch.cat(each)) for each in zip(*pairs, strict=True))
        return slopes(self._hooks, batch, logp, self._wanted(entropy))

    def training_step(self, *args: Any, **kwargs: Any) -> Tensor:
        """TRL's, then what follows the last pass of a minibatch and the last one of a generation batch."""
        loss = super().training_step(*args, **kwargs)
        if self._step % self.args.gradient_accumulation_steps == 0:
            self._unmoved = False
            self._hooks.check_hidden(self.state.global_step)
        if self._step % (self.args.steps_per_generation * self.num_iterations) == 0:
            assert self._whole is not None
            metrics = self._metrics["train"]
            known = {name: float(values[-1]) for name, values in metrics.items() if values}
            for name, value in self._hooks.end_step(batch=self._whole, metrics=known).items():
                metrics[f"method/{name}"].append(value)
        return loss

    # -- inside ------------------------------------------------------------------------------------------------------

    def _wanted(self, entropy: Tensor | None) -> Tensor | None:
        return entropy if "entropy" in self.stack.needs else None
