"""What a run under a stack writes down: its method, what it runs without, and the plugins' state in checkpoints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from trl import GRPOTrainer

from harness.batch import Batch
from harness.host import Stack
from harness.training import checkpoint

__all__ = ["Recorded"]

RECORD, STATE = "harness.json", "harness"


class Recorded(GRPOTrainer):
    """GRPOTrainer that records its stack."""

    stack: Stack
    without: tuple[str, ...]
    _buffered_inputs: Any  # TRL's: the micro-batches of a generation batch

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """TRL's, with the stack, its parameters and what it runs without in `output_dir/harness.json`."""
        if self.accelerator.is_main_process:
            target = Path(self.args.output_dir)
            target.mkdir(parents=True, exist_ok=True)
            record = {"without": list(self.without), "trl": version("trl"), **self.stack.spec()}
            (target / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        return super().train(*args, **kwargs)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """TRL's, and the state of the stack's plugins beside it."""
        super()._save_checkpoint(model, trial)
        if self.args.should_save:
            step = self.state.global_step
            folder = Path(self._get_output_dir(trial=trial)) / f"checkpoint-{step}"
            checkpoint.save(folder / STATE, step, self.stack.state_dict())

    def _load_optimizer_and_scheduler(self, checkpoint_path: Any) -> None:
        """TRL's, and the plugins' state where there is one."""
        super()._load_optimizer_and_scheduler(checkpoint_path)
        held = None if checkpoint_path is None else checkpoint.load_newest(Path(checkpoint_path) / STATE)
        if held is not None:
            self.stack.load_state_dict(held[1])

    # -- TRL's logs ---------------------------------------------------------------------------------------------------

    def _log_advantages(self, batch: Batch) -> None:
        """TRL's table of completions shows the stack's advantages in place of its own."""
        held = self._logs["advantages"]
        for _ in range(min(len(batch), len(held))):
            held.pop()
        held.extend(batch.advantage.tolist())

    def _log_entropy(self, entropy: Tensor, inputs: Mapping[str, Any]) -> None:
        """The mean over all tokens of all processes."""
        on = inputs["completion_mask"]
        sums = torch.stack([(entropy.detach()[:, : on.shape[1]] * on).sum(), on.sum().float()])
        total, count = self.accelerator.reduce(sums, reduction="sum").tolist()
        self._metrics["train"]["entropy"].append(total / max(count, 1.0))
