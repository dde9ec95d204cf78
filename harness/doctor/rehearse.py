"""The dearest step that a trial may make, in a process of its own: what memory it takes, and whether it works at all.

Every completion runs to its limit behind the longest prompt, verdicts alternate, so that groups differ and train; then
as many completions as an evaluation decodes side by side are sampled. Of several ranks, one is lived through. Where an
engine samples, its completions are made up, since its memory is its own. `python -m harness.doctor.rehearse` reads a
job as JSON from its input and writes the outcome as JSON to its output.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import TYPE_CHECKING, Any

from harness import runtime

if TYPE_CHECKING:
    from torch import Tensor

    from harness.policies.assemble import Written
    from harness.policies.sampler import Asked, Sampler
    from harness.training.config import TrialConfig
    from harness.training.setup import Trial

__all__ = ["OUT_OF_MEMORY", "rehearse"]

OUT_OF_MEMORY = 75  # exit status


def rehearse(config: TrialConfig, prompt: int) -> dict[str, Any]:
    """One step and an evaluation's sampling pass, with prompts of `prompt` tokens: seconds, updates, peak bytes."""
    from harness.training.config import BudgetConfig
    from harness.training.loop import step
    from harness.training.setup import make, open_sandbox

    endless = _share(config.model_copy(update={"budget": BudgetConfig(compute=1e18)}))
    with open_sandbox(endless) as (task, sandbox):
        trial = make(endless, task, sandbox)
        _make_worst(trial, prompt)
        if config.sampler.engine != "builtin":
            trial.context.sampler._sampler = _made_up(trial)  # noqa: SLF001 - as if an engine had answered
        began = time.perf_counter()
        metrics, _ = step(trial.context, trial.lag, 0)
        seconds = time.perf_counter() - began
        _evaluation(trial, prompt)
    return {"seconds": seconds, "updates": metrics["updates"], "peak": _peak(config.policy.device)}


def _share(config: TrialConfig) -> TrialConfig:
    """The trial with one rank's share of the prompts and of what an evaluation writes, and without its engine."""
    ranks = config.resources.ranks
    prompts, batch = -(-config.sampling.prompts // ranks), -(-config.evaluation.batch // ranks)
    changed = {
        "sampling": config.sampling.model_copy(update={"prompts": prompts}),
        "evaluation": config.evaluation.model_copy(update={"batch": batch}),
        "sampler": config.sampler.model_copy(update={"engine": "builtin"}),
        "resources": config.resources.model_copy(update={"ranks": 1}),
    }
    return config.model_copy(update=changed)


def _made_up(trial: Trial) -> Sampler:
    """A sampler whose completions are one token over and over, to their limits."""
    from harness.policies.sampler import Sampler

    class MadeUp(Sampler):
        def _write(self, asked: Asked, rows: Tensor, key: int, out: Written) -> None:  # noqa: ARG002 - no noise
            out.ids[rows] = self.policy.encode_prompt("1")[-1]
            out.lengths[rows] = asked.limit[rows]

    return MadeUp(trial.context.policy)


def _make_worst(trial: Trial, prompt: int) -> None:
    """No completion ends by itself, no prompt is shorter than the longest, and every other answer is right."""
    state, policy = trial.context.state, trial.context.policy
    for one in (policy, trial.lag.policy):
        one.stop_ids = ()
    encode = state._prompt_ids  # noqa: SLF001 - a rehearsal stands in for the trial's own prompts
    state._prompt_ids = lambda text: lengthened(encode(text), prompt)  # type: ignore[method-assign]  # noqa: SLF001
    task: Any = trial.context.task
    score = task.score

    def alternating(rollouts: Any) -> dict[str, Tensor]:
        import torch

        found = score(rollouts)
        right = torch.arange(len(rollouts)) % 2
        return {name: right.to(x).view(-1, *[1] * (x.dim() - 1)).expand_as(x) for name, x in found.items()}

    task.score = alternating


def lengthened(ids: tuple[int, ...], length: int) -> tuple[int, ...]:
    """A prompt of at least `length` tokens that begins as this one does."""
    return ids + ids[-1:] * max(length - len(ids), 0)


def _evaluation(trial: Trial, prompt: int) -> None:
    from harness.policies.limits import side_by_side
    from harness.policies.rollouts import Request
    from harness.policies.sampler import Sampler

    config, policy = trial.config, trial.context.policy
    longest = config.evaluation.max_tokens or config.sampling.max_tokens
    ids = lengthened(tuple(policy.encode_prompt("1", config.policy.system)), prompt)
    fitting = side_by_side(policy.n_params, len(ids) + longest, policy.backbone.cache_bytes)
    count = min(config.evaluation.batch, fitting)  # the rest comes after these
    requests = [Request(f"rehearsal-{i}", ids, 1, max_tokens=longest) for i in range(count)]
    Sampler(policy).generate(requests, seed=0, step=0, stream="rehearsal")


def _peak(device: str) -> int:
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.max_memory_reserved(device))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> int:
    """Read the job, live through it, tell. Errors of the harness go to the outcome."""
    job = json.load(sys.stdin)
    out, sys.stdout = sys.stdout, sys.stderr  # whatever else is printed is no part of the outcome
    from harness.errors import HarnessError, told
    from harness.training.config import TrialConfig
    from harness.training.memory import ran_out

    config = TrialConfig.model_validate(job["config"])
    runtime.prepare(config.threads)
    runtime.single_threaded(config.threads)
    try:
        outcome = rehearse(config, job["prompt"])
    except Exception as error:
        if ran_out(error):
            return OUT_OF_MEMORY
        if not isinstance(error, HarnessError):
            raise
        outcome = {"error": told(error)}
    json.dump(outcome, out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
