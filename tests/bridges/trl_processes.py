"""Run under torchrun: the averaged gradient of two processes against the learner's on the rows of both. Prints JSON."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import torch

from harness import hookimpl, method
from harness.bridges.contract import as_stack
from harness.bridges.trl import StackTrainer
from harness.budget import Budget, Ledger
from harness.policies.policy import Policy
from harness.training.config import LearnerConfig, OptimizerConfig
from harness.training.learner import Learner
from tests.bridges.trl_runs import EMBEDDED, GROUP, apart, trainer


@method
class Coupled:
    """A loss that couples all rows of a minibatch, over processes too."""

    @hookimpl
    def loss(self, batch, output):
        return -torch.logsumexp(5 * (batch.weights * output.ratio * batch.advantages).sum(1), 0)


CASES = {
    "grpo": {"stack": "grpo(beta=0.1)"},
    "rowwise": {"stack": "dr-grpo", "rowwise": True},
    "coupled": {"stack": Coupled},
}


def learner_gradient(made):
    """The gradient of the whole batch, as the bridge gathered it."""
    policy = Policy.load(EMBEDDED)
    policy.model.load_state_dict({name.removeprefix("module."): x for name, x in made.grab.weights[0].items()})
    batch = made._whole
    assert batch.groups.count().tolist() == [GROUP] * len(batch)
    masks = {"prompt_mask": batch.prompt_mask, "mask": (torch.arange(batch.tokens) < batch.lengths[:, None]).float()}
    batch = batch.replace(logp_old=policy.score(batch.prompt_ids, batch.completion_ids, **masks))
    stack = made.stack
    config = LearnerConfig(max_grad_norm=None)
    learner = Learner(policy, config, OptimizerConfig(), Ledger(Budget(updates=9)), needs=stack.needs)
    learner.hooks = as_stack(Coupled if stack.canonical == "coupled" else stack.canonical).caller(None)
    learner.backward(batch)
    return {name: parameter.grad for name, parameter in policy.model.named_parameters()}


def main() -> None:
    """Every case, and how far apart the gradients are; the widths differ between processes in some."""
    found = {}
    for name, options in CASES.items():
        with tempfile.TemporaryDirectory() as out:
            made = trainer(StackTrainer, Path(out), cut=4, gradient_accumulation_steps=2, **options)
            made.train()
            grads = {key.removeprefix("module."): x for key, x in made.grab.grads[0].items()}
            found[name] = apart(grads, learner_gradient(made))
    found["processes"] = made.accelerator.num_processes
    found["rows"] = len(made._whole)
    if made.accelerator.is_main_process:
        sys.stdout.write("FOUND " + json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
