"""What ranks do in tests: a step of some trials up to its update, and the gradient of its minibatches."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerFast  # noqa: F401 - once, before the fork

from harness.distributed import SOLO, Ranks, World
from harness.distributed.sharding import full
from harness.training.config import TrialConfig
from harness.training.setup import make, open_sandbox
from tests.training.conftest import before_update, gradients

SEEN = ("completion_ids", "mask", "prompt_ids", "prompt_mask", "logp_sampler", "rewards", "advantages", "logp_old")


def in_ranks(size: int, work: Callable[..., Any], *arguments: Any) -> list[Any]:
    """`work(world, *arguments)` in `size` processes; what each returned (tensors, numbers, texts in containers)."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.distributed.at_work"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        processes = [context.Process(target=_rank, args=(rank, size, folder, work, arguments)) for rank in range(size)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * size
        return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in range(size)]


def _rank(rank: int, size: int, folder: Path, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    torch.set_num_threads(1)
    with Ranks.joined(rank, size, folder / "store", "cpu") as world:
        torch.save(work(world, *arguments), folder / f"{rank}.pt")


def steps(world: World, cases: Mapping[str, TrialConfig]) -> dict[str, Any]:
    """For every case: what hooks saw of the first step's batch, and the gradient of each of its minibatches."""
    found = {}
    for name, config in cases.items():
        with open_sandbox(config, world) as (task, sandbox):
            trial = make(config, task, sandbox, world=world)
            batch = before_update(trial)
            parts = trial.context.learner.minibatches(batch)
            found[name] = {
                "rows": {field: x for field in SEEN if (x := getattr(batch, field)) is not None},
                "spent": trial.context.ledger.spent,
                "gradients": [[full(x) for x in gradients(trial, part)] for part in parts],
                "metrics": [dict(trial.context.learner.backward(part)) for part in parts],
                "counts": dict(trial.context.ledger.counts),
            }
    return found


def alone(cases: Mapping[str, TrialConfig]) -> dict[str, Any]:
    """The same in this process."""
    return steps(SOLO, cases)


def exchanges(world: World) -> dict[str, Any]:
    """Every kind of exchange, once."""
    a, b, c = (torch.zeros(2, requires_grad=True) for _ in range(3))
    a.grad = torch.full((2,), 100.0)
    with world.gradients([a, b, c]):
        (a * (world.rank + 1)).sum().backward()
        if world.leader:
            (b * 5).sum().backward()
    with world.gradients([c], alike=True):
        if world.rank < 0:
            c.sum().backward()
    fault = ""
    try:
        world.first(_no_luck)
    except ValueError as error:
        fault = str(error)
    return {
        "agree": world.agree(f"of rank {world.rank}"),
        "first": world.first(lambda: world.rank),
        "gather": world.gather(world.rank),
        "total": world.total(torch.tensor([float(world.rank), 1.0])),
        "gradients": [None if x.grad is None else x.grad.tolist() for x in (a, b, c)],
        "fault": fault,
    }


def _no_luck() -> None:
    raise ValueError("no luck")
